package prism

import (
	"context"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/sim/optics"
	"prismtop/sim/workload"
)

// sampling is the pattern: the apertures of each sample.
type sampling [][]optics.Point

// total returns the number of samples of all passes.
func (p sampling) total(passes int) int { return len(p) * max(passes, 1) }

// of returns the apertures of a sample. Further passes repeat the
// pattern in order: each sample is then trained together with the whole accumulated
// mask, which includes its own apertures.
func (p sampling) of(sample int) []optics.Point { return p[sample%len(p)] }

// beginSample starts the training of the next sample: a fresh Adam, the initial
// learning rate, new targets.
func (r *Reconstruction) beginSample(ctx context.Context, rec *profiles.Iteration) error {
	r.sample++
	rec.Unit = int32(r.sample)
	if n := r.settings.ClearCacheEvery; n > 0 && r.sample > 0 && r.sample%n == 0 {
		r.system.Cache().Clear()
	}
	r.began = time.Now()
	r.restart(r.settings.LearningRate)
	rec.Series[SeriesLearningRate] = r.lr
	if err := r.decoder.Model().ResetMoments(ctx, r.state); err != nil {
		return err
	}
	return r.measureTargets(ctx, rec)
}

// measureTargets measures the truth through the sample's apertures and the
// current reconstruction through all earlier ones.
func (r *Reconstruction) measureTargets(ctx context.Context, rec *profiles.Iteration) error {
	start, before := time.Now(), r.caches.retimed()
	var current []float32
	if r.hasCurrent {
		current = r.current
	}
	targetOld, targetNew := r.program.target(TargetOldInput, r.targets.old),
		r.program.target(TargetNewInput, r.targets.new)
	if err := r.system.Measure(ctx, current, r.samples.of(r.sample), targetOld, targetNew); err != nil {
		return err
	}
	r.program.deliver(TargetOldInput, targetOld)
	r.program.deliver(TargetNewInput, targetNew)
	rec.Phases[PhaseTelescope] += int64(time.Since(start)) - (r.caches.retimed() - before)
	return nil
}

// feedMasks gives the plan the masks of the sample's apertures and of all earlier
// ones. PRISM draws the new mask at every iteration; so does feedMasks while the
// mask cache is off.
func (r *Reconstruction) feedMasks(ctx context.Context, rec *profiles.Iteration, all bool) error {
	start, before := time.Now(), r.caches.retimed()
	for k, c := range r.samples.of(r.sample) {
		mask, err := r.caches.masks.Mask(ctx, r.system.Aperture(), c)
		if err != nil {
			return err
		}
		if all || !r.settings.MaskCache {
			r.program.write(r.newMasks[k], mask)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	if all {
		r.program.write(MaskOldInput, r.system.CumulativeMask())
	}
	rec.Phases[PhaseTelescope] += int64(time.Since(start)) - (r.caches.retimed() - before)
	return nil
}

// train runs one iteration of the progressive phase (spec/prism.md §5.3).
func (r *Reconstruction) train(ctx context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	if err := r.prepareIteration(ctx, rec); err != nil {
		return workload.Outcome{}, err
	}
	if err := r.evaluate(ctx, rec); err != nil {
		return workload.Outcome{}, err
	}
	losses := [2]float64{rec.Series[SeriesLossOld], rec.Series[SeriesLossNew]}
	if r.inSample == 0 && r.system.Samples() > 0 { // it compares the picture with itself: 0, which says nothing
		rec.Series[SeriesLossOld] = math.NaN()
	}
	r.inSample++
	th := r.stop
	if r.marked == nil && losses[1] < th && (r.system.Samples() == 0 || losses[0] < th) {
		rec.Flags |= profiles.Converged
		if err := r.program.account(ctx, &rec.Phases); err != nil {
			return workload.Outcome{}, err
		}
		return r.endSample(ctx, rec, losses, true)
	}
	if err := r.update(ctx, rec, r.lr); err != nil {
		return workload.Outcome{}, err
	}
	if r.inSample%r.settings.Iterations == 0 && r.settings.Scheduler == "plateau" {
		r.lr = r.plateau.step(losses[0]+losses[1], r.lr)
	}
	if r.marked == nil && r.inSample >= r.settings.Iterations*r.settings.Cycles {
		return r.endSample(ctx, rec, losses, false)
	}
	return workload.Outcome{}, nil
}

// prepareIteration brings targets and masks up to date: at the start of a sample,
// with a new plan, and whenever the settings require the work to be repeated.
func (r *Reconstruction) prepareIteration(ctx context.Context, rec *profiles.Iteration) error {
	all := true
	switch {
	case r.inSample == 0:
		if err := r.beginSample(ctx, rec); err != nil {
			return err
		}
	case !r.program.fed:
		r.targets.feed(r.program)
	default:
		all = false
	}
	if err := r.feedMasks(ctx, rec, all); err != nil {
		return err
	}
	r.program.fed = true
	if r.settings.Pattern == "remeasure" && r.inSample > 0 {
		return r.measureTargets(ctx, rec)
	}
	return nil
}

// endSample keeps the reconstruction, compares it with the truth and adds the
// sample's apertures to the accumulated mask, whether it converged or not. losses are the old and the new one.
func (r *Reconstruction) endSample(ctx context.Context, rec *profiles.Iteration, losses [2]float64,
	converged bool) (workload.Outcome, error) {
	start, before := time.Now(), r.caches.retimed()
	if err := r.reconstruct(ctx, !converged); err != nil {
		return workload.Outcome{}, err
	}
	measured, err := r.Quality(ctx)
	if err != nil {
		return workload.Outcome{}, err
	}
	out := workload.Outcome{UnitEnded: true, Measured: measured}
	out.Result = profiles.UnitResult{
		Unit: int32(r.sample), Iterations: int32(r.inSample), Converged: converged,
		Values: rec.Series, Reached: max(losses[0], losses[1]),
		Loss: r.settings.LossName(), Threshold: r.settings.ThresholdInForce(), Elapsed: time.Since(r.began),
	}
	if err := r.system.AddMask(ctx, r.samples.of(r.sample)); err != nil {
		return workload.Outcome{}, err
	}
	out.Measured[SeriesCoverage] = r.system.Coverage()
	rec.Phases[PhaseMetrics] += int64(time.Since(start)) - (r.caches.retimed() - before)
	r.inSample = 0
	if r.program.kind == firstSampleProgram {
		r.unload()
	}
	if r.sample+1 >= r.samples.total(r.settings.Passes) {
		r.done, out.Finished = true, true
	}
	return out, nil
}

// warmUpMeasurements measures the first samples once, as PRISM's benchmark of
// the remeasure pattern does before it starts (spec/prism.md §9.1).
func (r *Reconstruction) warmUpMeasurements(ctx context.Context) error {
	for i := range r.settings.WarmupMeasurements {
		if err := r.system.Measure(ctx, nil, r.samples.of(i), r.targets.old, r.targets.new); err != nil {
			return err
		}
	}
	return nil
}
