package sweep

import (
	"fmt"
	"math"
	"slices"

	"prismtop/profiles/report"
	"prismtop/profiles/stats"
)

// Optimum is the batch size to use.
type Optimum struct {
	BatchSize  int     `json:"batch_size"`
	Fastest    int     `json:"fastest"` // by the median
	ImagesPerS Spread  `json:"images_per_s"`
	Tolerance  float64 `json:"tolerance"`

	// Flat are the sizes around the fastest that are shown to be at most Tolerance slower: its
	// smallest is BatchSize. MayBe are the smallest and the largest that the measurements do not
	// show to be slower than the fastest; null if one run cannot show it.
	Flat        [2]int  `json:"flat"`
	MayBe       *[2]int `json:"may_be"`
	MayBeReason string  `json:"may_be_reason,omitempty"`

	Slower   map[string]report.Interval `json:"slower"` // than the fastest, by batch size: 0.1 is 10 %
	Sentence string                     `json:"sentence"`
}

// rates are throughputs of rounds, by batch size.
type rates map[int]map[int]float64

// optimum finds the batch size to use. Throughputs are compared within rounds, so that a
// drift of the machine touches both: the mean of the logarithms' differences has an interval
// by Student's distribution, at 5 % for all sizes together (Bonferroni).
func (v rates) optimum(tolerance float64) *Optimum {
	var sizes []int
	medians := map[int]*Spread{}
	for b, rounds := range v {
		var values []float64
		for _, rate := range rounds {
			values = append(values, rate)
		}
		if len(values) > 0 {
			sizes, medians[b] = append(sizes, b), spreadOf(values)
		}
	}
	if len(sizes) == 0 {
		return nil
	}
	slices.Sort(sizes)
	o := &Optimum{Fastest: sizes[0], Tolerance: tolerance, Slower: map[string]report.Interval{}}
	for _, b := range sizes {
		if medians[b].Median > medians[o.Fastest].Median {
			o.Fastest = b
		}
	}
	slower := map[int]report.Interval{}
	for _, b := range sizes {
		slower[b] = v.slower(b, o.Fastest, len(sizes)-1)
		o.Slower[fmt.Sprint(b)] = slower[b]
	}
	flat := func(b int) bool {
		return b == o.Fastest || slower[b].Judge(stats.AtMost(tolerance)) == stats.Within
	}
	at := slices.Index(sizes, o.Fastest)
	low, high := at, at
	for low > 0 && flat(sizes[low-1]) {
		low--
	}
	for high+1 < len(sizes) && flat(sizes[high+1]) {
		high++
	}
	o.Flat, o.BatchSize = [2]int{sizes[low], sizes[high]}, sizes[low]
	o.ImagesPerS = *medians[o.BatchSize]
	may := [2]int{o.Fastest, o.Fastest}
	known := len(sizes) == 1
	for _, b := range sizes {
		low := slower[b].Low // nil for a size that an interrupted sweep measured once
		known = known || low != nil
		if slower[b].Judge(stats.AtMost(0)) != stats.Above {
			may = [2]int{min(may[0], b), max(may[1], b)}
		}
	}
	if known {
		o.MayBe = &may
	} else {
		o.MayBeReason = "an interval needs two rounds or more"
	}
	o.Sentence = o.sentence(sizes)
	return o
}

// slower returns by how much a batch size is slower than another in the rounds that have
// both, with an interval for one of several comparisons.
func (v rates) slower(b, than, comparisons int) report.Interval {
	var d []float64
	for round, rate := range v[b] {
		if other, ok := v[than][round]; ok {
			d = append(d, math.Log(other/rate))
		}
	}
	slices.Sort(d) // sums of one order, whatever that of the map
	if len(d) == 0 {
		return report.Interval{}
	}
	if b == than {
		return report.Exact(0)
	}
	return report.Of(stats.Student(d, 0.05/float64(max(comparisons, 1)))).Through(math.Expm1)
}

// sentence says which size to take and how sure that is.
func (o *Optimum) sentence(sizes []int) string {
	text := fmt.Sprintf("%d is fastest: take %[1]d", o.Fastest)
	if o.BatchSize != o.Fastest {
		text = fmt.Sprintf("flat from %d to %d, within %.0f %%: take %[1]d", o.Flat[0], o.Flat[1], 100*o.Tolerance)
	} else if o.Flat[1] != o.Flat[0] {
		text = fmt.Sprintf("flat from %d to %d, within %.0f %%: take %[1]d, the fastest", o.Flat[0], o.Flat[1],
			100*o.Tolerance)
	}
	switch {
	case o.MayBe == nil:
		text += "; " + o.MayBeReason
	case o.MayBe[0] != o.MayBe[1]:
		text += fmt.Sprintf("; the fastest lies from %d to %d at 95 %%", o.MayBe[0], o.MayBe[1])
	case len(sizes) > 1:
		text += "; every other size is slower at 95 %"
	}
	return text
}

// ratesOf returns what a function makes of the runs of all sizes that did not fail.
func (s *Sweep) ratesOf(rate func(v *size, r *timed) float64) rates {
	all := rates{}
	for b, v := range s.sizes {
		if v.status != Success {
			continue
		}
		for i := range v.runs {
			r := &v.runs[i]
			if all[b] == nil {
				all[b] = map[int]float64{}
			}
			all[b][r.round] = rate(v, r)
		}
	}
	return all
}

// Stage is the batch size of one stage by itself.
type Stage struct {
	Name     string `json:"name"` // the document's
	Stage    string `json:"stage"`
	Document int    `json:"document"` // the document's default
	// Optimum is in groups; its throughput is that of the stage alone.
	Optimum *Optimum `json:"optimum"`
	Reason  string   `json:"optimum_reason,omitempty"`
}

// stages finds the batch size of each stage that works in batches.
func (s *Sweep) stages() []Stage {
	all := []Stage{{Name: "preprocessing", Stage: "normalise", Document: 128},
		{Name: "predict", Stage: "predict", Document: 32}, {Name: "reassembly", Stage: "reassemble", Document: 64}}
	for i := range all {
		stage := &all[i]
		of := allStages[slices.IndexFunc(allStages, func(n namedStage) bool { return n.name == stage.Stage })].of
		if fixed := s.fixed(stage.Stage); fixed > 0 {
			stage.Reason = fmt.Sprintf("fixed at %d", fixed)
			continue
		}
		stage.Optimum = s.ratesOf(func(v *size, r *timed) float64 {
			images := r.Groups * s.o.Job.Config().Channels()
			if stage.Stage == "predict" {
				images = r.Images
			}
			return float64(images) / max(of(r), 1e-9)
		}).optimum(s.o.Tolerance)
		if stage.Optimum == nil {
			stage.Reason = "nothing was measured"
		}
	}
	return all
}

// fixed returns the batch size of a stage that does not follow that of the trials, or 0.
func (s *Sweep) fixed(stage string) int {
	switch stage {
	case "normalise":
		return s.o.Job.Preprocess
	case "reassemble":
		return s.o.Job.Reassemble
	}
	return 0
}

// Curve is the time of a batch as a line over its size, t = overhead + group·size, and the
// throughput that follows.
type Curve struct {
	OverheadMS float64 `json:"overhead_ms"` // of a batch
	GroupMS    float64 `json:"group_ms"`    // of each of its groups
	Ceiling    float64 `json:"ceiling"`     // images/s that larger batches approach
	Deviation  float64 `json:"deviation"`   // largest of a size from the curve, relative
}

// curve fits the curve to the medians of the times of batches, with equal relative weights;
// nil for fewer than three sizes.
func (r *Report) curve() *Curve {
	var x, y, w []float64
	for _, b := range r.Measured() {
		t := r.Of(b).BatchMS.Median
		x, y, w = append(x, float64(b)), append(y, t), append(w, 1/(t*t))
	}
	fixed, slope, _ := stats.Line(x, y, w)
	if len(x) < 3 || !(slope > 0) {
		return nil
	}
	c := &Curve{OverheadMS: fixed, GroupMS: slope, Ceiling: 1e3 * float64(r.Model.Channels) / slope}
	for i := range x {
		c.Deviation = max(c.Deviation, math.Abs(y[i]/(fixed+slope*x[i])-1))
	}
	return c
}
