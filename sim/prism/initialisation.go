package prism

import (
	"context"
	"time"

	"prismtop/profiles"
	"prismtop/sim/optics"
	"prismtop/sim/workload"
)

// initialisation is the phase before the samples, in which the decoder learns a disc.
type initialisation struct {
	disc      []float32 // its target, [N, N]; nil without the phase
	threshold float64   // the loss at which it stops
}

// prepare sets up the phase in which the decoder learns a disc of
// the object's size (spec/prism.md §5.2).
func (i *initialisation) prepare(ctx context.Context, s *Settings, d *Decoder) error {
	n := s.Size
	i.disc = make([]float32, n*n)
	disc := optics.Aperture{Kind: optics.Circular, Radius: float64(s.ObjectSize) / 2}
	if err := disc.Add(ctx, i.disc, optics.Coordinates(n), optics.Point{}); err != nil {
		return err
	}
	i.judge(s, d)
	return nil
}

// judge sets the loss at which the initialisation stops. Pixels of the
// disc that the decoder cannot reach, in its border and the padding, put a floor under
// the loss: if it is above the threshold, PRISM can never converge and always spends
// the whole phase. The floor is added to the threshold, so that the phase ends when the
// reachable part has converged (docs/faithful.md). The phase has its own loss, so
// changing that of the samples does not suspend this threshold.
func (i *initialisation) judge(s *Settings, d *Decoder) {
	if i.threshold = s.Threshold; s.Faithful {
		return
	}
	top, bottom := d.Reach()
	n := s.Size
	missed, total := 0, 0
	for y := range n {
		for x := range n {
			if i.disc[y*n+x] == 0 {
				continue
			}
			total++
			if y < top || y >= bottom || x < top || x >= bottom {
				missed++
			}
		}
	}
	i.threshold += float64(missed) / float64(total)
}

// initialise runs one iteration of the initialisation phase.
func (r *Reconstruction) initialise(ctx context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	if !r.program.fed {
		r.program.write(TargetInput, r.initialisation.disc)
		r.program.fed = true
	}
	if err := r.evaluate(ctx, rec); err != nil {
		return workload.Outcome{}, err
	}
	r.inSample++
	if rec.Series[SeriesLossNew] < r.initialisation.threshold {
		rec.Flags |= profiles.Converged
		if err := r.program.account(ctx, &rec.Phases); err != nil {
			return workload.Outcome{}, err
		}
		return r.endInitialisation(ctx, rec, false)
	}
	if err := r.update(ctx, rec, r.lr); err != nil {
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

func (r *Reconstruction) endInitialisation(ctx context.Context, rec *profiles.Iteration,
	stepped bool) (workload.Outcome, error) {
	start := time.Now()
	if err := r.reconstruct(ctx, stepped); err != nil {
		return workload.Outcome{}, err
	}
	rec.Phases[PhaseMetrics] += int64(time.Since(start))
	r.initial = false
	r.sample, r.inSample = -1, 0
	out := workload.Outcome{StageEnded: true}
	if r.settings.Faithful && r.samples.total(r.settings.Passes) <= 1 {
		r.done, out.Finished = true, true // PRISM does not train a single sample (docs/faithful.md)
	}
	r.unload()
	return out, nil
}
