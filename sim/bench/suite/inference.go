package suite

import (
	"context"
	"fmt"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/report"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/sim/prism"
)

// Inference is the decoder after training, prepared for its output alone as PRISM's guide describes it: in
// float32, not trained any more, its normalisations folded into the convolutions.
type Inference struct {
	Preset     string `json:"preset"`
	Size       int    `json:"size"`
	ObjectSize int    `json:"object_size"`
	AMP        string `json:"amp"`        // of the training
	Iterations int64  `json:"iterations"` // of the training
	Rounds     int    `json:"rounds"`     // of the forms by turns

	TrainingMemory int64           `json:"training_memory_bytes"` // of the run that trained it
	Forms          []InferenceForm `json:"forms"`
	Folds          []Fold          `json:"folds"`

	Metrics *DeviceMetrics `json:"metrics"` // null on a processor, and where the card has no room for them
}

// DeviceMetrics compares PSNR, SSIM and RMSE of an output computed on the GPU where it is with the same on the
// processor, to which it is copied first.
type DeviceMetrics struct {
	IterationMS report.Spread   `json:"iteration_ms"` // of the training, without metrics
	GPUMS       report.Spread   `json:"gpu_ms"`
	HostMS      report.Spread   `json:"host_ms"`
	Speedup     report.Interval `json:"speedup"` // of an iteration with the metrics of its output
}

// InferenceForm is one form of the decoder.
type InferenceForm struct {
	Name        string        `json:"form"`
	Statistics  string        `json:"statistics"` // of the normalisations: batch or running
	Folded      bool          `json:"folded"`
	MS          report.Spread `json:"ms"`           // of forward passes
	MemoryBytes int64         `json:"memory_bytes"` // weights, activations, work space
	PSNR        *float64      `json:"psnr_db"`
	SSIM        *float64      `json:"ssim"`
}

// Fold compares a folded form with the one that has the same statistics.
type Fold struct {
	Statistics string          `json:"statistics"`
	Speedup    report.Interval `json:"speedup"` // unfolded over folded time
	Apart      float64         `json:"apart"`   // largest difference of the outputs, of their largest magnitude
	Tolerance  float64         `json:"tolerance"`
	Memory     int64           `json:"memory_difference_bytes"` // folded less unfolded
}

// The schedule of the forms: in every round a block of each, first to last or last to first by turns.
const (
	inferenceRounds = 24
	inferenceLeast  = 5   // passes of a block
	inferenceShare  = 200 // of the time of a measurement, for a block
)

// Inference adds the training of a workload, and the forms of the trained decoder by turns.
func (s *Suite) Inference(preset string, weight float64) {
	s.plan = append(s.plan, step{"inference after " + preset, weight,
		func(ctx context.Context, progress func(float64)) error {
			return s.inference(ctx, preset, progress)
		}})
}

func (s *Suite) inference(ctx context.Context, preset string, progress func(float64)) error {
	v, err := s.options.Settings(preset, []settings.Assignment{{Key: "seed", Value: "1"}})
	if err != nil {
		return err
	}
	inputs, err := s.options.Maker.Load(ctx, v)
	if err != nil {
		return err
	}
	task, err := s.options.Maker.New(ctx, v, inputs)
	if err != nil {
		return err
	}
	defer task.Close()
	run := task.(*prism.Reconstruction)
	s.report.Machine.on(&profiles.RunInfo{Device: run.Device().Device(), Kernels: run.Device().Kernels()},
		run.Device().Threads())
	n := &Inference{Preset: preset, Size: v.Int("size"), ObjectSize: v.Int("object_size"), AMP: v.Text("amp")}
	var rec profiles.Iteration
	var iterations []float64 // milliseconds of those with nothing else
	for all := float64(expected(v)); ; {
		rec = profiles.Iteration{}
		began := time.Now()
		out, err := run.Iterate(ctx, &rec)
		if err != nil {
			return err
		}
		n.Iterations++
		if !out.UnitEnded && !out.StageEnded && rec.Flags&profiles.Warmup == 0 {
			iterations = append(iterations, time.Since(began).Seconds()*1e3)
		}
		if rec.InUnit == 0 || n.Iterations%16 == 1 || out.Finished {
			memory := run.Memory()
			n.TrainingMemory = max(n.TrainingMemory, memory.Total())
		}
		if n.Iterations%16 == 1 {
			progress(0.6 * min(1, float64(n.Iterations)/all))
		}
		if out.Finished {
			break
		}
	}
	if len(iterations) > 0 && run.ComparesOnDevice() {
		if n.Metrics, err = metricsByTurns(ctx, run, iterations); err != nil {
			return err
		}
	}
	return s.forms(ctx, run, n, func(part float64) { progress(0.6 + 0.4*part) })
}

// forms runs the forms of a trained decoder by turns.
func (s *Suite) forms(ctx context.Context, run *prism.Reconstruction, n *Inference, progress func(float64)) error {
	var passes [prism.Forms]*prism.Forward
	var outputs [prism.Forms][]float32
	for form := range prism.Forms {
		pass, err := run.Final(ctx, form)
		if err != nil {
			return err
		}
		defer pass.Close()
		if err := pass.Run(ctx); err != nil {
			return err
		}
		passes[form], outputs[form] = pass, pass.Output()
		q, err := run.QualityOf(ctx, outputs[form])
		if err != nil {
			return err
		}
		memory := pass.Memory()
		n.Forms = append(n.Forms, InferenceForm{
			Name: form.String(), Statistics: statisticsOf(form), Folded: form.Folded(), MemoryBytes: memory.Total(),
			PSNR: report.Finite(q[prism.SeriesPSNR]), SSIM: report.Finite(q[prism.SeriesSSIM]),
		})
	}
	var times [prism.Forms][]float64
	var ratios [prism.Forms][]float64 // of folded forms, logarithms of unfolded over folded
	for round := range inferenceRounds + 1 {
		var medians [prism.Forms]float64
		for k := range prism.Forms {
			form := k
			if round%2 == 1 {
				form = prism.Forms - 1 - k
			}
			block, err := blockOf(ctx, passes[form], s.options.Time/inferenceShare)
			if err != nil {
				return err
			}
			if medians[form] = report.SpreadOf(block).Median; round > 0 { // the first warms up
				times[form] = append(times[form], block...)
			}
		}
		if round > 0 {
			for form := range prism.Forms {
				if form.Folded() {
					ratios[form] = append(ratios[form], math.Log(medians[form.Unfolded()]/medians[form]))
				}
			}
		}
		progress(float64(round+1) / (inferenceRounds + 1))
	}
	n.Rounds = inferenceRounds
	for form := range prism.Forms {
		n.Forms[form].MS = report.SpreadOf(times[form])
		if !form.Folded() {
			continue
		}
		fold := Fold{Statistics: statisticsOf(form), Tolerance: prism.FoldTolerance,
			Apart:   prism.Apart(outputs[form], outputs[form.Unfolded()]),
			Speedup: report.Of(stats.SignedRank(ratios[form])).Through(math.Exp),
			Memory:  n.Forms[form].MemoryBytes - n.Forms[form.Unfolded()].MemoryBytes}
		if !(fold.Apart <= fold.Tolerance) {
			return fmt.Errorf("%v puts out something else than %v: %.2g apart, must be %g at most", form,
				form.Unfolded(), fold.Apart, fold.Tolerance)
		}
		n.Folds = append(n.Folds, fold)
	}
	s.report.Inference = n
	return nil
}

// metricsByTurns compares the newest output with the truth on the GPU and on the processor by turns, after a run whose
// iterations took some milliseconds.
func metricsByTurns(ctx context.Context, run *prism.Reconstruction, iterations []float64) (*DeviceMetrics, error) {
	m := &DeviceMetrics{IterationMS: report.SpreadOf(iterations)}
	var times [2][]float64 // on the GPU, on the processor
	var ratios []float64
	for round := range inferenceRounds + 1 {
		var medians [2]float64
		for k := range medians {
			side := (k + round) % 2
			var block []float64
			for range inferenceLeast {
				start := time.Now()
				if _, err := run.QualityOn(ctx, side == 0); err != nil {
					return nil, err
				}
				block = append(block, time.Since(start).Seconds()*1e3)
			}
			if medians[side] = report.SpreadOf(block).Median; round > 0 { // the first warms up
				times[side] = append(times[side], block...)
			}
		}
		if each := m.IterationMS.Median; round > 0 {
			ratios = append(ratios, math.Log((each+medians[1])/(each+medians[0])))
		}
	}
	m.GPUMS, m.HostMS = report.SpreadOf(times[0]), report.SpreadOf(times[1])
	m.Speedup = report.Of(stats.SignedRank(ratios)).Through(math.Exp)
	return m, nil
}

func statisticsOf(form prism.Form) string {
	if form == prism.TrainingForm || form == prism.FoldedTrainingForm {
		return "batch"
	}
	return "running"
}

// blockOf times passes for at least a time, in milliseconds.
func blockOf(ctx context.Context, pass *prism.Forward, least time.Duration) (ms []float64, err error) {
	for began := time.Now(); len(ms) < inferenceLeast || time.Since(began) < least; {
		start := time.Now()
		if err := pass.Run(ctx); err != nil {
			return nil, err
		}
		ms = append(ms, time.Since(start).Seconds()*1e3)
	}
	return ms, nil
}
