package throughput

import (
	"fmt"
	"math"
	"strconv"

	"prismtop/profiles/report"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// Bottleneck is a rule of the document that the measurements meet.
type Bottleneck struct {
	Name     string `json:"name"` // "compute_bound", "memory_bandwidth"
	Evidence string `json:"evidence"`
}

// Recommendation is a way to run, with the numbers that speak for it.
type Recommendation struct {
	Preset    string         `json:"preset"`     // of the document
	BatchSize map[string]int `json:"batch_size"` // by stage: predict, reassembly, preprocessing
	Text      string         `json:"text"`
	Evidence  string         `json:"evidence"`
}

// Claim is a figure of the document beside what was measured.
type Claim struct {
	ID       string           `json:"id"` // of docs/coverage.md
	Of       string           `json:"of"`
	Claimed  string           `json:"claimed"`
	Measured *report.Interval `json:"measured"`
	Unit     string           `json:"unit"`
	Verdict  string           `json:"verdict"`
}

// Alert is a run that was slower than those before it.
type Alert struct {
	Began     string  `json:"began"`
	BatchSize int     `json:"batch_size"`
	Round     int     `json:"round"`
	Share     float64 `json:"share"` // of the median of the runs of this batch size
	Text      string  `json:"text"`
}

// predicted is the throughput of a run.
func predicted(_ *size, t *timed) float64 { return float64(t.Images) / t.Seconds.Predict }

// judge derives what follows from the measurements.
func (s *Sweep) judge(r *Report) {
	r.Optimum = s.optimum(predicted)
	if r.Optimum == nil {
		r.OptimumReason = "nothing was measured"
	} else {
		r.Optimum.Sentence = fmt.Sprintf("%s (%.1f images/s)", r.Optimum.Sentence, r.Optimum.ImagesPerS.Median)
	}
	r.Stages = s.stages()
	if r.Curve = r.curve(); r.Curve == nil {
		r.CurveReason = "fewer than three batch sizes were measured, or the time does not grow with the size"
	}
	if r.Memory = s.memory(); r.Memory == nil {
		r.MemoryReason = "the memory of fewer than two batch sizes is known, or it does not grow"
	}
	if r.Edge = s.Edge; r.Edge == nil {
		r.EdgeReason = "the edge was not searched: --memory-limit does"
		if s.o.Edge && s.o.Limit <= 0 {
			r.EdgeReason = "the edge was not searched: there is no memory limit"
		} else if s.o.Edge {
			r.EdgeReason = "the sweep ended before the search for the edge"
		}
	}
	r.bottlenecks()
	r.recommend()
	r.claims(s)
	m := Monitor{}
	for _, t := range s.trials {
		if e, ok := EntryOf(t); ok && t.Purpose == "sweep" {
			if a := m.Log(e); a != nil {
				a.Round = t.Round
				r.Alerts = append(r.Alerts, *a)
			}
		}
	}
}

// The document's rules: a plateau of throughput, and memory that grows linearly.
const (
	plateau   = 0.05 // gain of throughput for twice the batch, below which it is flat
	linearity = 0.98 // R² of memory over batch size
)

// bottlenecks applies the document's rules, which are heuristics: a plateau also comes from
// the bandwidth of memory, and linear growth says little about it.
func (r *Report) bottlenecks() {
	sizes := r.Measured()
	if n := len(sizes); n >= 3 {
		last, before := sizes[n-1], sizes[n-2]
		gain := r.Of(last).ImagesPerS.Median/r.Of(before).ImagesPerS.Median - 1
		per := math.Expm1(math.Log1p(gain) / math.Log2(float64(last)/float64(before))) // for twice the batch
		if per < plateau {
			r.Bottlenecks = append(r.Bottlenecks, Bottleneck{"compute_bound",
				fmt.Sprintf("heuristic: throughput has a plateau, %+.1f %% for twice the batch from %d to %d", 100*per,
					before, last)})
		}
	}
	if f := r.Memory; f != nil && f.Sizes >= 3 && f.R2 >= linearity {
		r.Bottlenecks = append(r.Bottlenecks, Bottleneck{"memory_bandwidth",
			fmt.Sprintf("weak heuristic of the document: memory grows linearly, %.2f MB a group (R² %.3f); bandwidth "+
				"itself was not measured", f.BytesEach/1e6, f.R2)})
	}
}

// best returns the measured size with the largest value; ok is false if none has one.
func (r *Report) best(value func(*Batch) (float64, bool)) (best int, ok bool) {
	most := math.Inf(-1)
	for _, b := range r.Measured() {
		if v, has := value(r.Of(b)); has && v > most {
			best, most, ok = b, v, true
		}
	}
	return best, ok
}

// recommend gives each of the document's presets its batch sizes.
func (r *Report) recommend() {
	if r.Optimum == nil {
		return
	}
	sizes := func(predict int) map[string]int {
		m := map[string]int{}
		for _, s := range r.Stages {
			if s.Optimum != nil {
				m[s.Name] = s.Optimum.BatchSize
			}
		}
		m["predict"] = predict
		return m
	}
	peak := func(b int) string {
		if v := r.Of(b); v != nil && v.Held() != nil {
			return fmt.Sprintf("%.0f MB", float64(*v.Held())/1e6)
		}
		return "an unknown amount of memory"
	}
	rate := func(b int) string {
		v := r.Of(b).ImagesPerS
		return fmt.Sprintf("%.1f images/s [%.1f, %.1f] of %s", v.Median, v.P10, v.P90, unit.Plural(v.N, "run", "runs"))
	}
	add := func(preset string, b int, text, evidence string) {
		r.Recommendations = append(r.Recommendations, Recommendation{preset, sizes(b), text, evidence})
	}
	o := r.Optimum
	add("speed_optimized", o.BatchSize, fmt.Sprintf("Predict in batches of %d for the most images a second.",
		o.BatchSize),
		fmt.Sprintf("%s; %s; %s", o.Sentence, rate(o.BatchSize), peak(o.BatchSize)))
	if b, ok := r.best(func(v *Batch) (float64, bool) {
		if v.Held() == nil {
			return 0, false
		}
		return -float64(*v.Held()), true
	}); ok {
		add("memory_optimized", b, fmt.Sprintf("Predict in batches of %d for the least memory.", b),
			fmt.Sprintf("%s, %s; the fastest needs %s", peak(b), rate(b), peak(o.BatchSize)))
	}
	if b, ok := r.best(func(v *Batch) (float64, bool) {
		if v.Efficiency == nil {
			return 0, false
		}
		return *v.Efficiency, true
	}); ok {
		add("balanced", b, fmt.Sprintf("Predict in batches of %d for the most images a second and megabyte.", b),
			fmt.Sprintf("%.4g images/s and MB: %s in %s", *r.Of(b).Efficiency, rate(b), peak(b)))
	}
	if b, ok := r.best(func(v *Batch) (float64, bool) { return -v.BatchMS.Median, true }); ok {
		v := r.Of(b)
		add("real_time", b, fmt.Sprintf("Predict in batches of %d for the shortest wait for a result.", b),
			fmt.Sprintf("a batch takes %.2f ms [%.2f, %.2f], %.2f ms an image", v.BatchMS.Median, v.BatchMS.P10,
				v.BatchMS.P90, v.LatencyMS.Median))
	}
	if b, ok := r.best(func(v *Batch) (float64, bool) { return -v.LatencyMS.Median, true }); ok {
		v := r.Of(b).LatencyMS
		add("image_latency", b, fmt.Sprintf("Predict in batches of %d for the least time an image.", b),
			fmt.Sprintf("%.2f ms an image [%.2f, %.2f], over batches", v.Median, v.P10, v.P90))
	}
	if b, ok := r.best(func(v *Batch) (float64, bool) {
		if v.ImagesPerJoule == nil {
			return 0, false
		}
		return *v.ImagesPerJoule, true
	}); ok {
		add("energy", b, fmt.Sprintf("Predict in batches of %d for the most images a joule.", b),
			fmt.Sprintf("%.4g images/s and watt, of %s", *r.Of(b).ImagesPerJoule, r.Machine.consumers()))
	}
	if e := r.Edge; e != nil && e.Verified != nil && r.Configuration.MemoryLimit != nil {
		b, spare := r.largest()
		add("largest", b, fmt.Sprintf("Batches of %d fit in the memory limit, %s.", b, spare), e.Sentence)
	}
}

// consumers names what takes the energy that is counted.
func (m *Machine) consumers() string {
	switch {
	case m.GPU == nil:
		return "all processor packages"
	case m.GPUs > 1:
		return "the GPUs"
	}
	return "the GPU"
}

// largest returns the largest size that ran with the margin to spare, or where none did, the largest that
// ran within the limit, and what it spares.
func (r *Report) largest() (batch int, spare string) {
	share := func(b int) (float64, bool) {
		v := r.Of(b)
		if v.Status != Success || v.Held() == nil {
			return 0, false
		}
		return 1 - float64(*v.Held())/float64(*r.Configuration.MemoryLimit), true
	}
	for _, b := range r.Sizes() {
		if v, ok := share(b); ok && b <= *r.Edge.Verified && v >= r.Configuration.Margin {
			batch = b
		}
	}
	if batch == 0 {
		batch = *r.Edge.Verified
	}
	v, ok := share(batch)
	switch {
	case !ok:
		return batch, "how much they spare is not known"
	case v < r.Configuration.Margin:
		return batch, fmt.Sprintf("with %.1f %% to spare, less than the margin of %.0f %%", 100*v,
			100*r.Configuration.Margin)
	}
	return batch, fmt.Sprintf("with %.1f %% to spare", 100*v)
}

// unoptimised is the batch size that the document wants to improve on.
const unoptimised = 32

// claims puts the figures of the document beside what was measured.
func (r *Report) claims(s *Sweep) {
	add := func(id, of, claimed, unit string, v *report.Interval, verdict string) {
		r.Claims = append(r.Claims, Claim{id, of, claimed, v, unit, verdict})
	}
	exact := func(v float64) *report.Interval { return new(report.Exact(v)) }
	spread := func(v *Spread) *report.Interval { return new(report.Between(v.Median, v.P10, v.P90)) }
	if o := r.Optimum; o != nil && r.Of(unoptimised) != nil && r.Of(unoptimised).ImagesPerS != nil {
		v := s.ratesOf(predicted).Slower(unoptimised, o.BatchSize, 1)
		gain := v.Through(func(v float64) float64 { return 1 + v })
		verdict := judged(gain, stats.Claim{From: 2, To: 5})
		if o.BatchSize == unoptimised {
			verdict = "not reached: batch size 32 is the optimum here"
			if o.MayBe == nil || o.MayBe[0] != o.MayBe[1] {
				verdict = "undecided: batch size 32 may be the optimum here"
			}
		}
		add("S4-3", fmt.Sprintf("throughput at batch size %d over that at 32", o.BatchSize), "2-5x", "x",
			&gain, verdict)
	} else {
		add("S4-3", "throughput at the best batch size over that at 32", "2-5x", "x", nil,
			"not judged: batch size 32 was not measured")
	}
	if o := r.Optimum; o != nil {
		add("S4-141", "optimal batch size", "64-128 (estimated)", "", new(o.among()),
			judged(o.among(), stats.Claim{From: 64, To: 128}))
		best := r.Of(o.BatchSize)
		add("S4-142", "throughput", "800-2000 images/s (forecast, RTX 3090)", "images/s", spread(best.ImagesPerS),
			"a forecast for another machine, not judged")
		if best.Held() != nil {
			add("S4-143", "memory at the optimum", "2-4 GB (forecast, RTX 3090)", "GB",
				exact(float64(*best.Held())/1e9), "a forecast for another machine, not judged")
		}
		verdict := map[stats.Finding]string{stats.Within: "met", stats.Above: "not met",
			stats.Undecided: "undecided: met by some batches only"}[stats.AtMost(5).Judge(best.LatencyMS.P10,
			best.LatencyMS.P90)]
		add("S4-144", "latency an image at the optimum", "< 5 ms", "ms", spread(best.LatencyMS), verdict)
	}
	const elsewhere = "the document's figure, of another machine, not judged"
	if at := r.Of(unoptimised); at != nil && at.ImagesPerS != nil {
		add("S4-140", "throughput at batch size 32, unoptimised", "~400 images/s (RTX 3090)", "images/s",
			spread(at.ImagesPerS), elsewhere+"; notebooks of its own project give about 6,400")
		if at.Held() != nil {
			add("S4-140", "memory at batch size 32, unoptimised", "~2 GB (RTX 3090)", "GB",
				exact(float64(*at.Held())/1e9), elsewhere)
		}
	} else {
		add("S4-140", "throughput and memory at batch size 32, unoptimised", "~400 images/s, ~2 GB (RTX 3090)", "", nil,
			"not measured: batch size 32 is not among the sizes")
	}
	if o := r.Optimum; o != nil {
		add("S4-123", "throughput of the best size above that at the optimum", "within 10 %", "%", o.above(),
			o.accurate(r.Configuration.Runs))
	}
	if v, ok := r.saved(); ok {
		add("S4-116", "memory of memory_optimized below that of batch size 32", "30-50 %", "%", exact(100*v),
			judged(report.Between(100*v, 100*v, 100*v), stats.Claim{From: 30, To: 50}))
	} else {
		add("S4-116", "memory of memory_optimized below that of batch size 32", "30-50 %", "%", nil,
			"not judged: the memory at batch size 32 is not known")
	}
	if c := r.Curve; c != nil {
		add("S4-117", "largest deviation from t = overhead + group·size", "predictable scaling", "%",
			exact(100*c.Deviation), c.sentence())
	}
	n := len(r.Measured())
	verdict := "met"
	if n < 7 {
		verdict = "not met"
	}
	add("S4-122", "batch sizes measured", "7 or more", "", exact(float64(n)), verdict)
}

// sentence describes the curve.
func (c *Curve) sentence() string {
	if c.OverheadMS <= 0 {
		return fmt.Sprintf("%.3g ms a group, and no overhead of a batch is seen", c.GroupMS)
	}
	return fmt.Sprintf("%.3g ms a batch and %.3g ms a group", c.OverheadMS, c.GroupMS)
}

// saved returns the share of memory that the least size saves of that of batch size 32.
func (r *Report) saved() (float64, bool) {
	base := r.Of(unoptimised)
	for _, v := range r.Recommendations {
		if v.Preset == "memory_optimized" && base != nil && base.Held() != nil {
			if least := r.Batches[strconv.Itoa(v.BatchSize["predict"])]; least.Held() != nil {
				return 1 - float64(*least.Held())/float64(*base.Held()), true
			}
		}
	}
	return 0, false
}

// judged says what an interval allows to say of a claim.
func judged(i report.Interval, c stats.Claim) string {
	switch i.Judge(c) {
	case stats.Within:
		return "as claimed"
	case stats.Below:
		return "less than claimed"
	case stats.Above:
		return "more than claimed"
	}
	if i.Low == nil {
		return "undecided: an interval needs two rounds or more"
	}
	return fmt.Sprintf("undecided: it lies from %.3g to %.3g", *i.Low, *i.High)
}

// accuracy is how far above the optimum's throughput the best size's may be.
const accuracy = 0.1

// telling is by how much the throughput of the best size may be above the optimum's for its interval to be shown, in
// per cent: one that reaches further is made of too few runs to say anything.
const telling = 100

// above is by how much the throughput of the best size is above that at the optimum, in per cent, and at most, by the
// intervals of all sizes; without an interval where they are too wide to tell.
func (o *Optimum) above() *report.Interval {
	i := report.Exact(100 * o.Slower[strconv.Itoa(o.BatchSize)].Value)
	most, known := 0.0, len(o.Slower) == 1
	for _, of := range o.Slower {
		if of.Low == nil {
			continue
		}
		known = true
		most = math.Max(most, 1/(1+*of.Low)-1) // than the fastest by the median
	}
	if own := o.Slower[strconv.Itoa(o.BatchSize)]; own.High != nil {
		most = math.Max(most, *own.High)
	}
	if known && 100*most <= telling {
		i = report.Between(i.Value, math.Min(0, i.Value), 100*most)
	}
	return &i
}

// accurate says whether the optimum is within the plan's accuracy, after runs of each size.
func (o *Optimum) accurate(runs int) string {
	i := o.above()
	switch i.Judge(stats.AtMost(100 * accuracy)) {
	case stats.Within:
		return "met"
	case stats.Above:
		return "not met"
	}
	switch {
	case o.MayBe == nil:
		return "undecided: " + o.MayBeReason
	case i.Low == nil:
		return fmt.Sprintf("undecided: %s of each size are too few to tell; --runs makes more",
			unit.Plural(runs, "run", "runs"))
	}
	return "undecided: another size may be faster by more"
}

// among returns the batch size to use, with the sizes among which the best one may be.
func (o *Optimum) among() report.Interval {
	if o.MayBe == nil {
		return report.Exact(float64(o.BatchSize))
	}
	return report.Between(float64(o.BatchSize), float64(min(o.MayBe[0], o.Flat[0])),
		float64(max(o.MayBe[1], o.Flat[1])))
}
