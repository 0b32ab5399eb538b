package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/report"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/ablation"
	"prismtop/sim/bench"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
)

// AMPOptions are what mixed precision is measured with.
type AMPOptions struct {
	Sizes         []AMPGeometry
	LearningRates []float64 // of the trainings; that of the preset is measured too where the list lacks it
	Iterations    int       // of a training
	Seeds         int       // trainings of each kind, from different weights
}

// AMPGeometry is a size of the problem.
type AMPGeometry struct{ Size, ObjectSize int }

// String returns the size as it is written: 512/128.
func (g AMPGeometry) String() string { return fmt.Sprintf("%d/%d", g.Size, g.ObjectSize) }

// DefaultAMP are the sizes and rates of bench amp: three sizes that take a few minutes on two processors, and the
// learning rates of PRISM's guide.
func DefaultAMP() AMPOptions {
	return AMPOptions{Sizes: []AMPGeometry{{128, 32}, {256, 64}, {512, 128}},
		LearningRates: []float64{1e-4, 1e-3, 1e-2}, Iterations: 100, Seeds: 3}
}

// AMP is mixed precision by image size.
type AMP struct {
	Preset        string    `json:"preset"`
	Iterations    int       `json:"iterations"` // of each training
	Seeds         int       `json:"seeds"`
	LearningRates []float64 `json:"learning_rates"`
	LearningRate  float64   `json:"learning_rate"` // of the preset
	Sizes         []AMPSize `json:"sizes"`
	Scaler        *Scaler   `json:"scaler"` // fp16's over a long training; null if not measured
}

// AMPSize is mixed precision at one size.
type AMPSize struct {
	Size       int               `json:"size"`
	ObjectSize int               `json:"object_size"`
	Settings   map[string]string `json:"settings"` // that times depend on
	Rounds     int               `json:"rounds"`
	Modes      []AMPMode         `json:"modes"`
	Trainings  []Training        `json:"trainings"` // by mode and learning rate, float32 ("off") and its control first
	Available  int64             `json:"memory_available_bytes"`
	// Checkpointing is the memory of the run in float32 with checkpointing, by its plan.
	Checkpointing int64 `json:"checkpointing_bytes"`
}

// AMPMode is one value of the setting amp beside float32.
type AMPMode struct {
	Mode     string          `json:"mode"`
	OffMS    float64         `json:"off_ms"` // of an iteration
	OnMS     float64         `json:"on_ms"`
	Speedup  report.Interval `json:"speedup"`   // off over on
	OffBytes int64           `json:"off_bytes"` // of the run, by its plan
	OnBytes  int64           `json:"on_bytes"`
	OffPeak  *int64          `json:"off_peak_bytes"` // resident memory of the run at its largest
	OnPeak   *int64          `json:"on_peak_bytes"`
	NoPeak   string          `json:"peak_bytes_reason,omitempty"`
	Criteria []AMPCriterion  `json:"criteria"`
	Advice   string          `json:"advice"` // in one sentence
}

// Training is what came of training in one mode at one learning rate, from each seed.
type Training struct {
	Mode         string     `json:"mode"`
	LearningRate float64    `json:"learning_rate"`
	Runs         []TrainRun `json:"runs"` // of the seeds
}

// TrainRun is one training. Those of the same seed and rate start from the same weights, whatever their mode.
type TrainRun struct {
	Seed       uint64         `json:"seed"`
	FirstLoss  *float64       `json:"first_loss"`
	FinalLoss  *float64       `json:"final_loss"` // mean of the last tenth
	Rate       *float64       `json:"rate"`       // by which the logarithm of the loss falls, an iteration
	PSNR       *float64       `json:"psnr_db"`
	SSIM       *float64       `json:"ssim"`
	Gradients  *report.Spread `json:"gradient_norm"` // of all parameters, every fifth iteration
	Skipped    int            `json:"skipped_steps"` // by the gradient scaler
	NonFinite  int            `json:"non_finite"`    // losses and gradient norms of steps that were not skipped
	ScaleFirst float64        `json:"scale_first"`   // the gradient scaler's; 0 without one
	ScaleLeast float64        `json:"scale_least"`
	ScaleLast  float64        `json:"scale_last"`
	Ended      int            `json:"ended_at,omitempty"` // iteration after which it diverged; 0 if it did not
}

// Scaler is the course of fp16's gradient scaler, which doubles its factor after 2000 good steps and halves it at an
// overflow.
type Scaler struct {
	Size       int          `json:"size"`
	ObjectSize int          `json:"object_size"`
	Iterations int          `json:"iterations"`
	Skipped    int          `json:"skipped_steps"`
	Course     []ScalePoint `json:"course"` // its first value and every change
}

// ScalePoint is the factor from an iteration on.
type ScalePoint struct {
	Iteration int     `json:"iteration"`
	Scale     float64 `json:"scale"`
}

// Control is the mode of trainings in float32 that round otherwise: each seed once with the setting of every one of
// otherwise switched over, which changes no result but for rounding. Training amplifies rounding: what lies between
// these and float32's is no fault of a mode.
const Control = "off, rounded otherwise"

var otherwise = []string{"fused_telescope", "shared_spectrum"}

// ampPreset is the workload whose geometry is scaled.
const ampPreset = "baseline"

// ampSamples is the number of samples: measured is the middle one.
const ampSamples = 20

// scalerIterations is enough for the scaler to double its factor once.
const scalerIterations = 2100

// gradientEvery is how often gradients are read.
const gradientEvery = 5

// timed are the settings that the time of an iteration depends on, beside the size and amp.
var timed = []string{"latent", "channels", "batch_norm", "loss", "normalize_loss", "sample_length", "pattern",
	"shared_spectrum", "fused_telescope", "pruned_fft",
	"checkpointing", "fused_optimizer", "amsgrad", "noise", "measurement_cache", "fft_cache", "mask_cache"}

// AMP adds the measurement of mixed precision, a step for each size.
func (s *Suite) AMP(o AMPOptions, weight float64) {
	pixels := 0.0
	for _, g := range o.Sizes {
		pixels += float64(g.Size)
	}
	for _, g := range o.Sizes {
		s.plan = append(s.plan, step{"mixed precision at " + g.String(), weight * float64(g.Size) / pixels,
			func(ctx context.Context, progress func(float64)) error {
				return s.ampAt(ctx, o, g, progress)
			}})
	}
	if len(o.Sizes) > 0 {
		s.plan = append(s.plan, step{"gradient scaler of fp16", weight / 10,
			func(ctx context.Context, progress func(float64)) error {
				return s.scaler(ctx, slices.MinFunc(o.Sizes, func(a, b AMPGeometry) int { return a.Size - b.Size }),
					progress)
			}})
	}
}

// AMPFixed lists the settings beside the size that ampSettings and the trainings decide, the same at all sizes.
func AMPFixed() []string { return []string{"amp", "samples", "roi_diameter", "seed"} }

// ampSettings returns the settings of a size. The aperture keeps its share of the field.
func (s *Suite) ampSettings(g AMPGeometry, sets ...settings.Assignment) (settings.Values, error) {
	v, err := s.options.Settings(ampPreset, nil)
	if err != nil {
		return v, err
	}
	radius := math.Max(1, v.Number("radius")*float64(g.Size)/float64(v.Int("size")))
	all := []settings.Assignment{{Key: "size", Value: fmt.Sprint(g.Size)},
		{Key: "object_size", Value: fmt.Sprint(g.ObjectSize)}, {Key: "radius", Value: fmt.Sprint(radius)},
		{Key: "samples", Value: fmt.Sprint(ampSamples)}, {Key: "roi_diameter", Value: "0"}, {Key: "amp", Value: "off"}}
	v, err = s.options.Settings(ampPreset, append(all, sets...))
	if err == nil {
		err = v.Validate()
	}
	return v, err
}

// CheckAMP returns an error for a size that the settings cannot have.
func CheckAMP(resolve func(preset string, sets []settings.Assignment) (settings.Values, error), g AMPGeometry) error {
	s := Suite{options: Options{Settings: resolve}}
	_, err := s.ampSettings(g)
	return err
}

// ampAt measures at one size: the trainings, the memory, then the times.
func (s *Suite) ampAt(ctx context.Context, o AMPOptions, g AMPGeometry, progress func(float64)) error {
	v, err := s.ampSettings(g)
	if err != nil {
		return err
	}
	if s.report.AMP == nil {
		s.report.AMP = &AMP{Preset: ampPreset, Iterations: o.Iterations, Seeds: o.Seeds,
			LearningRate: v.Number("learning_rate"), Sizes: []AMPSize{}}
	}
	a := s.report.AMP
	a.LearningRates = slices.Compact(
		slices.Sorted(slices.Values(append(slices.Clone(o.LearningRates), a.LearningRate))))
	usable, _ := machine.ReadMemory().Usable()
	z := &AMPSize{Size: g.Size, ObjectSize: g.ObjectSize, Settings: map[string]string{}, Available: usable}
	for _, key := range timed {
		z.Settings[key] = v.Get(key)
	}
	const shareOfTimes = 0.5
	table, _, err := bench.Ablation(ctx, s.options.Maker, v, ablation.Options{Only: []string{"amp"},
		Rounds: s.options.Rounds, Time: min(profiles.AblationBlock, s.options.Time/50)}, func(t *profiles.Ablation) {
		if t.Groups > 0 {
			progress(shareOfTimes * float64(t.Done) / float64(t.Groups))
		}
	})
	if err != nil { // a size is kept if all of it was measured
		return err
	}
	z.Rounds = table.Rounds
	for _, row := range table.Rows {
		if row.Groups > 0 {
			z.Modes = append(z.Modes, AMPMode{Mode: row.On, OffMS: row.OffNS / 1e6, OnMS: row.OnNS / 1e6,
				OffBytes: row.OffBytes, OnBytes: row.OnBytes,
				Speedup: report.Between(row.Effect, row.Low, row.High).Through(func(v float64) float64 {
					return 1 / (1 + v)
				})})
		}
	}
	if err := s.ampMemory(ctx, z, v); err != nil {
		return err
	}
	if err := s.ampTrainings(ctx, a, z, g,
		func(part float64) { progress(shareOfTimes + (1-shareOfTimes)*part) }); err != nil {
		return err
	}
	a.Sizes = append(a.Sizes, *z)
	return nil
}

// ampMemory measures the resident memory of a run in each mode, and the plan's with checkpointing.
func (s *Suite) ampMemory(ctx context.Context, z *AMPSize, v settings.Values) error {
	peak := func(sets ...settings.Assignment) (*int64, profiles.Memory, string, error) {
		w, err := v.With(sets...)
		if err != nil {
			return nil, profiles.Memory{}, "", err
		}
		debug.FreeOSMemory()
		before, _, reason := machine.ReadResident()
		if reason == "" {
			reason = machine.ResetPeak()
		}
		run, err := bench.Middle(ctx, sim.Options{Maker: s.options.Maker, Settings: w, Stream: stream.New(2)})
		if err != nil {
			return nil, profiles.Memory{}, "", err
		}
		defer run.Close()
		info := run.Info()
		s.report.Machine.on(&info, run.Threads())
		for range 3 {
			if _, _, err := run.Next(ctx); err != nil {
				return nil, profiles.Memory{}, "", err
			}
		}
		if _, most, why := machine.ReadResident(); reason == "" && why == "" {
			most -= before
			return &most, run.Memory(), "", nil
		}
		_, _, why := machine.ReadResident()
		return nil, run.Memory(), cmp.Or(reason, why), nil
	}
	off, _, reason, err := peak()
	if err != nil {
		return err
	}
	for i := range z.Modes {
		m := &z.Modes[i]
		m.OffPeak, m.NoPeak = off, reason
		if m.OnPeak, _, _, err = peak(settings.Assignment{Key: "amp", Value: m.Mode}); err != nil {
			return err
		}
	}
	_, memory, _, err := peak(settings.Assignment{Key: "checkpointing", Value: "true"})
	z.Checkpointing = memory.Total()
	return err
}

// ampTrainings trains in float32 and in every mode, from the same weights, at every learning rate and seed.
func (s *Suite) ampTrainings(ctx context.Context, a *AMP, z *AMPSize, g AMPGeometry, progress func(float64)) error {
	modes := []string{"off", Control}
	for _, m := range z.Modes {
		modes = append(modes, m.Mode)
	}
	done, all := 0.0, float64((len(modes)+len(otherwise)-1)*len(a.LearningRates)*a.Seeds)
	for _, mode := range modes {
		for _, rate := range a.LearningRates {
			t := Training{Mode: mode, LearningRate: rate}
			switched := []string{""}
			if mode == Control {
				switched = otherwise
			}
			for _, key := range switched {
				for seed := range a.Seeds {
					run, err := s.trainRun(ctx, g, mode, key, rate, uint64(seed)+1, a.Iterations)
					if err != nil {
						return err
					}
					t.Runs = append(t.Runs, *run)
					done++
					progress(done / all)
				}
			}
			z.Trainings = append(z.Trainings, t)
		}
	}
	return nil
}

// trainable returns a run in the middle of the pattern, in float32 so far, that trains in a mode from the next
// iteration on, with the setting of a key switched over unless that is empty.
func (s *Suite) trainable(ctx context.Context, g AMPGeometry, mode, key string, rate float64,
	seed uint64) (*sim.Run, error) {
	v, err := s.ampSettings(g)
	if err != nil {
		return nil, err
	}
	changes := []settings.Assignment{{Key: "amp", Value: mode}}
	if mode == Control {
		changes = []settings.Assignment{{Key: key, Value: fmt.Sprint(!v.On(key))}}
	}
	v, err = s.ampSettings(g, settings.Assignment{Key: "fused_optimizer", Value: "false"},
		settings.Assignment{Key: "seed", Value: fmt.Sprint(seed)},
		settings.Assignment{Key: "learning_rate", Value: fmt.Sprint(rate)})
	if err != nil {
		return nil, err
	}
	run, err := bench.Middle(ctx, sim.Options{Maker: s.options.Maker, Settings: v, Stream: stream.New(2)})
	if err != nil {
		return nil, err
	}
	for _, a := range changes {
		if err := run.Set(a.Key, a.Value); err != nil {
			run.Close()
			return nil, err
		}
	}
	return run, nil
}

// trainRun trains once.
func (s *Suite) trainRun(ctx context.Context, g AMPGeometry, mode, key string, rate float64, seed uint64,
	iterations int) (*TrainRun, error) {
	run, err := s.trainable(ctx, g, mode, key, rate, seed)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	t := &TrainRun{Seed: seed}
	var losses, norms []float64
	for i := range iterations {
		rec, _, err := run.Next(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && !errors.Is(err, workload.ErrDiverged) {
			return nil, err
		}
		if err != nil {
			t.Ended, t.NonFinite = i+1, t.NonFinite+1
			break
		}
		loss := rec.Series[prism.SeriesLossNew]
		if old := rec.Series[prism.SeriesLossOld]; !math.IsNaN(old) { // a sample's first iteration has none
			loss += old
		}
		losses = append(losses, loss)
		t.scale(rec.Series[prism.SeriesGradientScale])
		skipped := rec.Flags&profiles.SkippedStep != 0
		if skipped {
			t.Skipped++
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			t.NonFinite++
		}
		if i%gradientEvery != 0 || skipped {
			continue
		}
		if norm, known := run.GradientNorm(); known {
			if norms = append(norms, norm); math.IsNaN(norm) || math.IsInf(norm, 0) {
				t.NonFinite++
			}
		}
	}
	t.losses(losses)
	if len(norms) > 0 && !slices.ContainsFunc(norms, func(v float64) bool {
		return math.IsNaN(v) || math.IsInf(v, 0)
	}) {
		spread := report.SpreadOf(norms)
		t.Gradients = &spread
	}
	if t.Ended > 0 {
		return t, nil
	}
	q, err := run.Quality(ctx)
	t.PSNR, t.SSIM = report.Finite(q[prism.SeriesPSNR]), report.Finite(q[prism.SeriesSSIM])
	return t, err
}

// scale notes the gradient scaler's factor.
func (t *TrainRun) scale(v float64) {
	if math.IsNaN(v) || v == 0 {
		return
	}
	if t.ScaleFirst == 0 {
		t.ScaleFirst, t.ScaleLeast = v, v
	}
	t.ScaleLeast, t.ScaleLast = min(t.ScaleLeast, v), v
}

// losses derives the numbers about the loss.
func (t *TrainRun) losses(all []float64) {
	if len(all) == 0 {
		return
	}
	t.FirstLoss = report.Finite(all[0])
	last := all[len(all)-max(1, len(all)/10):]
	sum := 0.0
	for _, v := range last {
		sum += v
	}
	t.FinalLoss = report.Finite(sum / float64(len(last)))
	t.Rate = report.Finite(fallOf(all))
}

// fallOf returns by how much the logarithm of a loss falls in an iteration: the slope of the least squares line.
func fallOf(losses []float64) float64 {
	x, y := make([]float64, len(losses)), make([]float64, len(losses))
	for i, v := range losses {
		x[i], y[i] = float64(i), math.Log(v)
	}
	_, slope, _ := stats.Line(x, y, nil)
	return -slope
}

// scaler follows the gradient scaler over a long training.
func (s *Suite) scaler(ctx context.Context, g AMPGeometry, progress func(float64)) error {
	run, err := s.trainable(ctx, g, "fp16", "", s.report.AMP.LearningRate, 1)
	if err != nil {
		return err
	}
	defer run.Close()
	c := &Scaler{Size: g.Size, ObjectSize: g.ObjectSize, Course: []ScalePoint{{0, nn.InitialScale}}}
	for i := range scalerIterations {
		rec, _, err := run.Next(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, workload.ErrDiverged) {
			break // the course so far is what there is
		}
		if err != nil {
			return err
		}
		c.Iterations++
		if rec.Flags&profiles.SkippedStep != 0 {
			c.Skipped++
		}
		if scale := rec.Series[prism.SeriesGradientScale]; scale != c.Course[len(c.Course)-1].Scale {
			c.Course = append(c.Course, ScalePoint{i + 1, scale})
		}
		progress(float64(i+1) / scalerIterations)
	}
	s.report.AMP.Scaler = c
	return nil
}
