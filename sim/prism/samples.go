package prism

import (
	"context"
	"time"

	"prismtop/profiles"
	"prismtop/sim/optics"
	"prismtop/sim/workload"
)

// prepareInitialisation sets up the phase in which the decoder learns a disc of
// the object's size (spec/prism.md §5.2).
func (r *Reconstruction) prepareInitialisation(ctx context.Context) error {
	n := r.settings.Size
	r.disc = make([]float32, n*n)
	disc := optics.Aperture{Kind: optics.Circular, Radius: float64(r.settings.ObjectSize) / 2}
	if err := disc.Add(ctx, r.disc, optics.Coordinates(n), optics.Point{}); err != nil {
		return err
	}
	r.threshold = r.initialThreshold()
	return nil
}

// initialThreshold returns the loss at which the initialisation stops. Pixels of the
// disc that the decoder cannot reach, in its border and the padding, put a floor under
// the loss: if it is above the threshold, PRISM can never converge and always spends
// the whole phase. The floor is added to the threshold, so that the phase ends when the
// reachable part has converged (docs/faithful.md). The phase has its own loss, so
// changing that of the samples does not suspend this threshold.
func (r *Reconstruction) initialThreshold() float64 {
	if r.settings.Faithful {
		return r.settings.Threshold
	}
	top, bottom := r.decoder.Reach()
	n := r.settings.Size
	missed, total := 0, 0
	for i := range n {
		for j := range n {
			if r.disc[i*n+j] == 0 {
				continue
			}
			total++
			if i < top || i >= bottom || j < top || j >= bottom {
				missed++
			}
		}
	}
	return r.settings.Threshold + float64(missed)/float64(total)
}

// initialise runs one iteration of the initialisation phase.
func (r *Reconstruction) initialise(ctx context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	if !r.program.fed {
		r.program.write(TargetInput, r.disc)
		r.program.fed = true
	}
	if err := r.evaluate(ctx, rec); err != nil {
		return workload.Outcome{}, err
	}
	r.inSample++
	if rec.Series[SeriesLossNew] < r.threshold {
		rec.Flags |= profiles.Converged
		if err := r.program.account(ctx, &rec.Phases); err != nil {
			return workload.Outcome{}, err
		}
		return r.endInitialisation(ctx, rec, false)
	}
	if err := r.update(ctx, rec); err != nil {
		return workload.Outcome{}, err
	}
	if r.inSample%r.settings.InitIterations == 0 {
		r.lr = r.plateau.step(rec.Series[SeriesLossNew], r.lr)
	}
	if r.inSample >= r.settings.InitIterations*r.settings.InitCycles {
		return r.endInitialisation(ctx, rec, true)
	}
	return workload.Outcome{}, nil
}

func (r *Reconstruction) endInitialisation(ctx context.Context, rec *profiles.Iteration, stepped bool) (workload.Outcome, error) {
	start := time.Now()
	if err := r.reconstruct(ctx, stepped); err != nil {
		return workload.Outcome{}, err
	}
	rec.Phases[PhaseMetrics] += int64(time.Since(start))
	r.initial = false
	r.sample, r.inSample = -1, 0
	out := workload.Outcome{StageEnded: true}
	if r.settings.Faithful && r.total() <= 1 {
		r.done, out.Finished = true, true // PRISM does not train a single sample (docs/faithful.md)
	}
	r.unload()
	return out, nil
}

// total returns the number of samples of all passes.
func (r *Reconstruction) total() int { return len(r.samples) * max(r.settings.Passes, 1) }

// centres returns the apertures of the current sample. Further passes repeat the
// pattern in order: each sample is then trained together with the whole accumulated
// mask, which includes its own apertures.
func (r *Reconstruction) centres() []optics.Point { return r.samples[r.sample%len(r.samples)] }

// beginSample starts the training of the next sample: a fresh Adam, the initial
// learning rate, new targets.
func (r *Reconstruction) beginSample(ctx context.Context, rec *profiles.Iteration) error {
	r.sample++
	rec.Unit = int32(r.sample)
	if n := r.settings.ClearCacheEvery; n > 0 && r.sample > 0 && r.sample%n == 0 {
		r.system.Cache().Clear()
	}
	r.began = time.Now()
	r.lr, r.plateau = r.settings.LearningRate, newPlateau()
	rec.Series[SeriesLearningRate] = r.lr
	if err := r.decoder.Model().ResetMoments(ctx, r.state); err != nil {
		return err
	}
	return r.measureTargets(ctx, rec)
}

// measureTargets measures the truth through the sample's apertures and the
// current reconstruction through all earlier ones.
func (r *Reconstruction) measureTargets(ctx context.Context, rec *profiles.Iteration) error {
	start, before := time.Now(), r.retimed()
	var current []float32
	if r.hasCurrent {
		current = r.current
	}
	targetOld, targetNew := r.program.target(TargetOldInput, r.targetOld), r.program.target(TargetNewInput, r.targetNew)
	if err := r.system.Measure(ctx, current, r.centres(), targetOld, targetNew); err != nil {
		return err
	}
	r.program.deliver(TargetOldInput, targetOld)
	r.program.deliver(TargetNewInput, targetNew)
	rec.Phases[PhaseTelescope] += int64(time.Since(start)) - (r.retimed() - before)
	return nil
}

// feedMasks gives the plan the masks of the sample's apertures and of all earlier
// ones. PRISM draws the new mask at every iteration; so does feedMasks while the
// mask cache is off.
func (r *Reconstruction) feedMasks(ctx context.Context, rec *profiles.Iteration, all bool) error {
	start, before := time.Now(), r.retimed()
	for k, c := range r.centres() {
		mask, err := r.masks.Mask(ctx, r.system.Aperture(), c)
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
	rec.Phases[PhaseTelescope] += int64(time.Since(start)) - (r.retimed() - before)
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
	r.inSample++
	th := r.stop
	if r.marked == nil && rec.Series[SeriesLossNew] < th && (r.system.Samples() == 0 || rec.Series[SeriesLossOld] < th) {
		rec.Flags |= profiles.Converged
		if err := r.program.account(ctx, &rec.Phases); err != nil {
			return workload.Outcome{}, err
		}
		return r.endSample(ctx, rec, true)
	}
	if err := r.update(ctx, rec); err != nil {
		return workload.Outcome{}, err
	}
	if r.inSample%r.settings.Iterations == 0 && r.settings.Scheduler == "plateau" {
		r.lr = r.plateau.step(rec.Series[SeriesLossOld]+rec.Series[SeriesLossNew], r.lr)
	}
	if r.marked == nil && r.inSample >= r.settings.Iterations*r.settings.Cycles {
		return r.endSample(ctx, rec, false)
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
		r.program.write(TargetOldInput, r.targetOld)
		r.program.write(TargetNewInput, r.targetNew)
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
// sample's apertures to the accumulated mask, whether it converged or not.
func (r *Reconstruction) endSample(ctx context.Context, rec *profiles.Iteration, converged bool) (workload.Outcome, error) {
	start, before := time.Now(), r.retimed()
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
		Values: rec.Series, Reached: max(rec.Series[SeriesLossOld], rec.Series[SeriesLossNew]),
		Loss: r.settings.LossName(), Threshold: r.settings.ThresholdInForce(), Elapsed: time.Since(r.began),
	}
	if err := r.system.AddMask(ctx, r.centres()); err != nil {
		return workload.Outcome{}, err
	}
	out.Measured[SeriesCoverage] = r.system.Coverage()
	rec.Phases[PhaseMetrics] += int64(time.Since(start)) - (r.retimed() - before)
	r.inSample = 0
	if r.program.kind == firstSampleProgram {
		r.unload()
	}
	if r.sample+1 >= r.total() {
		r.done, out.Finished = true, true
	}
	return out, nil
}

// warmUpMeasurements measures the first samples once, as PRISM's benchmark of
// the remeasure pattern does before it starts (spec/prism.md §9.1).
func (r *Reconstruction) warmUpMeasurements(ctx context.Context) error {
	for i := range r.settings.WarmupMeasurements {
		if err := r.system.Measure(ctx, nil, r.samples[i%len(r.samples)], r.targetOld, r.targetNew); err != nil {
			return err
		}
	}
	return nil
}
