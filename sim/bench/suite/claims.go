package suite

import (
	"math"
	"slices"
	"strings"

	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/sim/prism"
)

// Claim is a figure beside what was measured.
type Claim struct {
	Figure
	Measured *Interval `json:"measured"`
	// Where says what was measured, or why nothing was.
	Where string `json:"where"`
	// Verdict says what the measurement allows to say: "as claimed", "as claimed within 10 %", "more than claimed",
	// "less than claimed", "undecided: it lies from 0.71x to 5.25x"; empty without a measurement.
	Verdict string `json:"verdict"`
}

// quantity is a number of a report.
type quantity struct {
	of  string // what was measured
	get func(*Report) (Interval, bool)
}

// quantities are what figures can be compared with.
var quantities = map[string]quantity{
	"create_s":               {"median of 9 creations: weights drawn, plan compiled", fromModel(func(m *Model) Interval { return inner(m.CreateSeconds) })},
	"create_mb":              {"weights, activations and work space of the forward pass, by its plan", fromModel(func(m *Model) Interval { return exact(float64(m.CreateMemory) / 1e6) })},
	"create_peak_mb":         {"growth of the peak of resident memory while the decoder is made", createPeak},
	"parameters":             {"parameters of the decoder", fromModel(func(m *Model) Interval { return exact(float64(m.Parameters)) })},
	"weights_mb":             {"the weights as they are held", fromModel(func(m *Model) Interval { return exact(float64(m.IterationMemory["weights"]) / 1e6) })},
	"forward_ms":             {"median of forward passes", fromModel(func(m *Model) Interval { return inner(m.ForwardMS) })},
	"forward_fps":            {"median of forward passes", fromModel(func(m *Model) Interval { return rate(m.ForwardMS) })},
	"iteration_ms":           {"median of iterations in the middle of the standard workload", fromModel(func(m *Model) Interval { return inner(m.IterationMS) })},
	"iterations_s":           {"median of iterations in the middle of the standard workload", fromModel(func(m *Model) Interval { return rate(m.IterationMS) })},
	"iteration_over_forward": {"median of iterations over that of forward passes", fromModel(func(m *Model) Interval { return exact(m.IterationMS.Median / m.ForwardMS.Median) })},
	"backward_ms":            {"median of the phase in the middle of the standard workload", phase("backward")},
	"optimizer_ms":           {"median of the phase in the middle of the standard workload", phase("optimizer")},
	"experiment_s":           {"preset ten-samples, median of 3 runs", fromModel(func(m *Model) Interval { return exact(m.Experiment.Seconds) })},
	"experiment_sample_s":    {"preset ten-samples, median of 3 runs", fromModel(func(m *Model) Interval { return exact(m.Experiment.SampleMS / 1e3) })},
	"experiment_mb":          {"preset ten-samples, memory of the run", fromModel(func(m *Model) Interval { return exact(float64(m.Experiment.MemoryBytes) / 1e6) })},
	"share_forward":          {"of the phases' medians", share("forward")},
	"share_backward":         {"of the phases' medians", share("backward")},
	"share_optimizer":        {"of the phases' medians", share("optimizer")},
	"share_telescope":        {"of the phases' medians", share("telescope")},

	"speedup_standard":        {"preset standard, runs by turns", compared("standard", Documented, func(c *Comparison) Interval { return c.Speedup })},
	"speedup_standard_all":    {"preset standard, everything off against everything on, runs by turns", compared("standard", Everything, func(c *Comparison) Interval { return c.Speedup })},
	"speedup_phase5":          {"preset phase5, runs by turns", compared("phase5", Documented, func(c *Comparison) Interval { return c.Speedup })},
	"speedup_guide":           {"preset guide, runs by turns", compared("guide", Documented, func(c *Comparison) Interval { return c.Speedup })},
	"standard_baseline_mb":    {"preset standard, baseline: memory of the run at its largest", compared("standard", Documented, func(c *Comparison) Interval { return exact(float64(typical(c.Results[0]).MemoryBytes) / 1e6) })},
	"standard_memory":         {"preset standard: memory of the run at its largest, optimised against baseline", compared("standard", Documented, memoryAdded)},
	"standard_baseline_s":     {"preset standard, baseline: median of the runs, least to most", compared("standard", Documented, func(c *Comparison) Interval { return c.Baseline.interval(1) })},
	"standard_optimized_s":    {"preset standard, optimised: median of the runs, least to most", compared("standard", Documented, func(c *Comparison) Interval { return c.Optimized.interval(1) })},
	"standard_baseline_ms":    {"preset standard, baseline: median of the runs, least to most", compared("standard", Documented, func(c *Comparison) Interval { return c.Baseline.interval(1e3 / c.samples()) })},
	"standard_optimized_ms":   {"preset standard, optimised: median of the runs, least to most", compared("standard", Documented, func(c *Comparison) Interval { return c.Optimized.interval(1e3 / c.samples()) })},
	"standard_baseline_rate":  {"preset standard, baseline: median of the runs, least to most", compared("standard", Documented, func(c *Comparison) Interval { return c.Baseline.inverse(c.samples()) })},
	"standard_optimized_rate": {"preset standard, optimised: median of the runs, least to most", compared("standard", Documented, func(c *Comparison) Interval { return c.Optimized.inverse(c.samples()) })},
	"standard_baseline_hits":  {"preset standard, cleared after every measurement: counted", hitRate("standard", 0)},
	"standard_optimized_hits": {"preset standard: counted", hitRate("standard", 1)},
	"psnr_standard":           {"preset standard: optimised less baseline, over the rounds' seeds", psnrOfStandard},
	"peak_mb":                 {"resident memory of the process, all runs together", peak},
	"phase5_baseline_s":       {"preset phase5, baseline: median of the runs, least to most", compared("phase5", Documented, func(c *Comparison) Interval { return c.Baseline.interval(1) })},
	"phase5_optimized_s":      {"preset phase5, optimised: median of the runs, least to most", compared("phase5", Documented, func(c *Comparison) Interval { return c.Optimized.interval(1) })},
	"phase5_optimized_hits":   {"preset phase5: counted", hitRate("phase5", 1)},
	"cache_mb":                {"preset standard, entries of the measurement cache at the end", cacheBytes},
	"cache_entries":           {"preset standard, at the end", cacheEntries},
	"masks_mb":                {"preset standard, entries of the mask cache at the end", masksBytes},

	"one_measurement": {"20 centres over and over, computed and from the cache by turns", measured(func(m *Measurement) Interval { return m.Speedup })},
	"one_computed_ms": {"median of measurements, 512 pixels", measured(func(m *Measurement) Interval { return inner(m.ComputedMS) })},
	"one_cached_ms":   {"median of measurements, 512 pixels", measured(func(m *Measurement) Interval { return inner(m.CachedMS) })},
	"entry_mb":        {"a plane of 512 x 512 float32", measured(func(m *Measurement) Interval { return exact(float64(m.EntryBytes) / 1e6) })},

	"effect_measurement_cache": {"ablation in the middle of phase5, PRISM's optimisations", effect("measurement_cache", "true")},
	"effect_fft_cache":         {"ablation in the middle of phase5, PRISM's optimisations", effect("fft_cache", "true")},
	"effect_mask_cache":        {"ablation in the middle of phase5, PRISM's optimisations", effect("mask_cache", "true")},
	"effect_amp":               {"bf16, ablation in the middle of phase5, PRISM's optimisations", effect("amp", "bf16")},
	"amp_512":                  {"bf16 at 512/128, ablation in the middle of the baseline; that of phase5 where no size was measured", ampSpeed(512)},
	"amp_1024":                 {"bf16 at 1024, ablation in the middle of the baseline", ampSpeed(1024)},
	"amp_2048":                 {"bf16 at 2048, ablation in the middle of the baseline", ampSpeed(2048)},
	"amp_memory_512":           {"bf16 at 512/128, of the memory of the run, by its plan", ampMemoryAt(512)},
	"amp_memory_1024":          {"bf16 at 1024, of the memory of the run, by its plan", ampMemoryAt(1024)},
	"amp_memory_2048":          {"bf16 at 2048, of the memory of the run, by its plan", ampMemoryAt(2048)},
	"amp_ssim":                 {"bf16 at the largest size, the preset's learning rate: worst seed's difference from float32", ampWorst(func(b, m *TrainRun) float64 { return 100 * difference(m.SSIM, b.SSIM) })},
	"amp_rate":                 {"bf16 at the largest size, the preset's learning rate: worst seed's difference from float32", ampWorst(func(b, m *TrainRun) float64 { return 100 * ratio(m.Rate, b.Rate) })},
	"amp_loss":                 {"bf16 at the largest size, the preset's learning rate: worst seed's difference from float32", ampWorst(func(b, m *TrainRun) float64 { return 100 * ratio(m.FinalLoss, b.FinalLoss) })},
	"inference":                {"preset phase5, evaluation mode and the same folded, passes by turns", inferenceSpeedup},
	"effect_amp_memory":        {"bf16, of the memory of the run in the middle of phase5", ampMemory},
}

// exact is a number that was counted or read once.
func exact(v float64) Interval { return Interval{Value: v} }

// inner is a distribution's median, with its tenth and ninetieth percentile.
func inner(s Spread) Interval { return Interval{s.Median, &s.P10, &s.P90} }

// rate is inner per second, of milliseconds.
func rate(s Spread) Interval {
	low, high := 1e3/s.P90, 1e3/s.P10
	return Interval{1e3 / s.Median, &low, &high}
}

// interval is the median with the least and the most, times a factor.
func (s Seconds) interval(factor float64) Interval {
	low, high := s.Min*factor, s.Max*factor
	return Interval{s.Median * factor, &low, &high}
}

// inverse is a number over the times.
func (s Seconds) inverse(number float64) Interval {
	low, high := number/s.Max, number/s.Min
	return Interval{number / s.Median, &low, &high}
}

// samples is the number of samples of a run.
func (c *Comparison) samples() float64 { return float64(c.Results[0][0].Samples) }

func fromModel(get func(*Model) Interval) func(*Report) (Interval, bool) {
	return func(r *Report) (Interval, bool) {
		if r.Model == nil {
			return Interval{}, false
		}
		return get(r.Model), true
	}
}

func share(phase string) func(*Report) (Interval, bool) {
	return func(r *Report) (Interval, bool) {
		if r.Model == nil {
			return Interval{}, false
		}
		v, ok := r.Model.PhaseShares[phase]
		return exact(100 * v), ok
	}
}

// phase is the median time of a phase.
func phase(name string) func(*Report) (Interval, bool) {
	return func(r *Report) (Interval, bool) {
		if r.Model == nil {
			return Interval{}, false
		}
		ms, ok := r.Model.PhasesMS[name]
		return exact(ms), ok
	}
}

func createPeak(r *Report) (Interval, bool) {
	if r.Model == nil || r.Model.CreatePeak == nil {
		return Interval{}, false
	}
	return exact(float64(*r.Model.CreatePeak) / 1e6), true
}

// memoryAdded is by how much the optimised side holds more, in per cent.
func memoryAdded(c *Comparison) Interval {
	return exact(100 * (float64(typical(c.Results[1]).MemoryBytes)/float64(typical(c.Results[0]).MemoryBytes) - 1))
}

// of returns the comparison of a workload; nil for none.
func (r *Report) of(preset string, set Set) *Comparison {
	for i := range r.Comparisons {
		if c := &r.Comparisons[i]; c.Preset == preset && c.Set == set {
			return c
		}
	}
	return nil
}

func compared(preset string, set Set, get func(*Comparison) Interval) func(*Report) (Interval, bool) {
	return func(r *Report) (Interval, bool) {
		if c := r.of(preset, set); c != nil {
			return get(c), true
		}
		return Interval{}, false
	}
}

func psnrOfStandard(r *Report) (Interval, bool) {
	c := r.of("standard", Documented)
	if c == nil || c.PSNR == nil {
		return Interval{}, false
	}
	return *c.PSNR, true
}

// measurementCache returns the cache of a side's typical run.
func (r *Report) measurementCache(preset string, side int) (Cache, bool) {
	c := r.of(preset, Documented)
	if c == nil {
		return Cache{}, false
	}
	v, ok := typical(c.Results[side]).Caches[prism.Schema().Caches[prism.CacheMeasurement].Name]
	return v, ok
}

func hitRate(preset string, side int) func(*Report) (Interval, bool) {
	return func(r *Report) (Interval, bool) {
		c, ok := r.measurementCache(preset, side)
		if !ok || c.HitRate == nil {
			return Interval{}, false
		}
		return exact(100 * *c.HitRate), true
	}
}

// ampSpeed is the speed-up of bf16 at a size.
func ampSpeed(size int) func(*Report) (Interval, bool) {
	return func(r *Report) (Interval, bool) {
		if r.AMP != nil {
			for i := range r.AMP.Sizes {
				if z := &r.AMP.Sizes[i]; z.Size == size {
					for _, m := range z.Modes {
						if m.Mode == "bf16" {
							return m.Speedup, true
						}
					}
				}
			}
		}
		if size == 512 {
			return effect("amp", "bf16")(r)
		}
		return Interval{}, false
	}
}

// ampWorst is a difference of bf16's trainings from float32's, the largest over the seeds; the interval reaches from
// the least to the most.
func ampWorst(of func(base, mode *TrainRun) float64) func(*Report) (Interval, bool) {
	return func(r *Report) (Interval, bool) {
		if r.AMP == nil || len(r.AMP.Sizes) == 0 {
			return Interval{}, false
		}
		z := largest(r.AMP.Sizes)
		base, mode := z.training("off", r.AMP.LearningRate), z.training("bf16", r.AMP.LearningRate)
		if base == nil || mode == nil {
			return Interval{}, false
		}
		var all []float64
		for i := range mode.Runs {
			all = append(all, of(&base.Runs[i], &mode.Runs[i]))
		}
		low, high := slices.Min(all), slices.Max(all)
		worst := high
		if math.Abs(low) > math.Abs(high) {
			worst = low
		}
		if math.IsNaN(worst) || math.IsInf(worst, 0) {
			return Interval{}, false
		}
		if len(all) < 2 { // one seed has no spread
			return exact(worst), true
		}
		return Interval{worst, &low, &high}, true
	}
}

// largest returns the largest size.
func largest(sizes []AMPSize) *AMPSize {
	z := &sizes[0]
	for i := range sizes {
		if sizes[i].Size > z.Size {
			z = &sizes[i]
		}
	}
	return z
}

func inferenceSpeedup(r *Report) (Interval, bool) {
	if r.Inference != nil {
		for _, f := range r.Inference.Folds {
			if f.Statistics == "running" {
				return f.Speedup, true
			}
		}
	}
	return Interval{}, false
}

// ampMemoryAt is by how much bf16 holds more at a size, in per cent.
func ampMemoryAt(size int) func(*Report) (Interval, bool) {
	return func(r *Report) (Interval, bool) {
		if r.AMP != nil {
			for i := range r.AMP.Sizes {
				for _, m := range r.AMP.Sizes[i].Modes {
					if r.AMP.Sizes[i].Size == size && m.Mode == "bf16" {
						return exact(100 * (float64(m.OnBytes)/float64(m.OffBytes) - 1)), true
					}
				}
			}
		}
		return Interval{}, false
	}
}

func cacheEntries(r *Report) (Interval, bool) {
	c, ok := r.measurementCache("standard", 1)
	return exact(float64(c.Entries)), ok
}

func masksBytes(r *Report) (Interval, bool) {
	c := r.of("standard", Documented)
	if c == nil {
		return Interval{}, false
	}
	v, ok := typical(c.Results[1]).Caches[prism.Schema().Caches[prism.CacheMasks].Name]
	return exact(float64(v.Bytes) / 1e6), ok
}

func cacheBytes(r *Report) (Interval, bool) {
	c, ok := r.measurementCache("standard", 1)
	return exact(float64(c.Bytes) / 1e6), ok
}

func peak(r *Report) (Interval, bool) {
	largest, known := 0.0, false
	for _, c := range r.Comparisons {
		for _, results := range c.Results {
			for _, v := range results {
				if v.PeakRSS != nil {
					largest, known = math.Max(largest, float64(*v.PeakRSS)/1e6), true
				}
			}
		}
	}
	return exact(largest), known
}

func measured(get func(*Measurement) Interval) func(*Report) (Interval, bool) {
	return func(r *Report) (Interval, bool) {
		if r.Measurement == nil {
			return Interval{}, false
		}
		return get(r.Measurement), true
	}
}

// effectOf returns the effect of a setting's value; nil for none.
func (r *Report) effectOf(setting, on string) *Effect {
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Setting == setting && e.On == on {
			return e
		}
	}
	return nil
}

func effect(setting, on string) func(*Report) (Interval, bool) {
	return func(r *Report) (Interval, bool) {
		if e := r.effectOf(setting, on); e != nil {
			return e.Speedup, true
		}
		return Interval{}, false
	}
}

func ampMemory(r *Report) (Interval, bool) {
	e, c := r.effectOf("amp", "bf16"), r.of("phase5", Documented)
	if e == nil || c == nil {
		return Interval{}, false
	}
	return exact(100 * float64(e.MemoryBytes) / float64(typical(c.Results[1]).MemoryBytes)), true
}

// claimsOf puts every figure beside what a report measured.
func claimsOf(r *Report) []Claim {
	claims := []Claim{}
	for _, f := range Figures() {
		c := Claim{Figure: f, Where: f.Absent}
		if f.Measure != "" {
			q := quantities[f.Measure]
			if v, ok := q.get(r); ok {
				c.Measured, c.Where = &v, q.of
				if !f.Word {
					c.Verdict = f.verdict(v)
				}
			} else {
				c.Where = "not measured"
			}
		}
		claims = append(claims, c)
	}
	return claims
}

// A claim of one number is met by an exact value that differs by no more than tolerance, the documents' rounding, and by an
// interval within equalWithin of it.
const (
	tolerance   = 0.01
	equalWithin = 0.1
)

// verdict compares a measurement with the claim.
func (f *Figure) verdict(v Interval) string {
	claim := stats.Claim{From: f.Low, To: math.Inf(1)}
	if f.High != nil {
		claim.To = *f.High
	}
	low, high, within := v.Value, v.Value, ""
	if v.Low != nil {
		low, high = *v.Low, *v.High
	}
	if claim.From == claim.To {
		if claim.Margin = tolerance * math.Abs(f.Low); low != high {
			claim.Margin, within = equalWithin*math.Abs(f.Low), " within "+unit.Share(equalWithin)
		}
	}
	switch claim.Judge(low, high) {
	case stats.Within:
		return "as claimed" + within
	case stats.Above:
		return "more than claimed" + f.times(v.Value, claim.To)
	case stats.Below:
		return "less than claimed" + f.times(v.Value, claim.From)
	}
	return "undecided: it lies from " + number(low) + " to " + number(high)
}

// times says how many times a claim a value is, where the claim is a number to quote.
func (f *Figure) times(v, claim float64) string {
	if !strings.ContainsAny(f.Text, "0123456789") { // a word, such as "negligible"
		return ""
	}
	ratio := v / claim
	if !(ratio > 0) || math.IsInf(ratio, 0) {
		return ""
	}
	return " (" + number(ratio) + "x)"
}
