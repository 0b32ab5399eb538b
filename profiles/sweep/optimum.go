package sweep

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"prismtop/profiles/report"
	"prismtop/profiles/stats"
)

// Optimum is the value of a search to take: the first of Flat.
type Optimum struct {
	Fastest   int     `json:"fastest"` // by the median
	Tolerance float64 `json:"tolerance"`

	// Flat are the values around the fastest that are shown to be at most Tolerance slower. MayBe are the smallest and
	// the largest that the measurements do not show to be slower than the fastest; null if one run cannot show it.
	Flat        [2]int  `json:"flat"`
	MayBe       *[2]int `json:"may_be"`
	MayBeReason string  `json:"may_be_reason,omitempty"`

	Slower   map[string]report.Interval `json:"slower"` // than the fastest, by value: 0.1 is 10 %
	Sentence string                     `json:"sentence"`
}

// Rates are speeds of rounds, by value: a round has one run of each.
type Rates map[int]map[int]float64

// Optimum finds the value to take; nil without a run. Speeds are compared within rounds, so that a drift of the machine
// touches both: the mean of the logarithms' differences has an interval by Student's distribution, at 5 % for all
// values together (Bonferroni).
func (v Rates) Optimum(tolerance float64) *Optimum {
	values := slices.Sorted(maps.Keys(v))
	if len(values) == 0 {
		return nil
	}
	median := func(of int) float64 { return stats.Median(slices.Collect(maps.Values(v[of]))) }
	o := &Optimum{Fastest: values[0], Tolerance: tolerance, Slower: map[string]report.Interval{}}
	for _, of := range values {
		if median(of) > median(o.Fastest) {
			o.Fastest = of
		}
	}
	slower := map[int]report.Interval{}
	for _, of := range values {
		slower[of] = v.Slower(of, o.Fastest, len(values)-1)
		o.Slower[fmt.Sprint(of)] = slower[of]
	}
	flat := func(of int) bool {
		return of == o.Fastest || slower[of].Judge(stats.AtMost(tolerance)) == stats.Within
	}
	at := slices.Index(values, o.Fastest)
	low, high := at, at
	for low > 0 && flat(values[low-1]) {
		low--
	}
	for high+1 < len(values) && flat(values[high+1]) {
		high++
	}
	o.Flat = [2]int{values[low], values[high]}
	may := [2]int{o.Fastest, o.Fastest}
	known := len(values) == 1
	for _, of := range values {
		known = known || slower[of].Low != nil // nil for a value that an interrupted sweep measured once
		if slower[of].Judge(stats.AtMost(0)) != stats.Above {
			may = [2]int{min(may[0], of), max(may[1], of)}
		}
	}
	if known {
		o.MayBe = &may
	} else {
		o.MayBeReason = "an interval needs two rounds or more"
	}
	o.Sentence = o.sentence(len(values))
	return o
}

// Slower returns by how much a value is slower than another in the rounds that have both, with an interval for one of
// several comparisons.
func (v Rates) Slower(of, than, comparisons int) report.Interval {
	var d []float64
	for round, rate := range v[of] {
		if other, ok := v[than][round]; ok {
			d = append(d, math.Log(other/rate))
		}
	}
	slices.Sort(d) // sums of one order, whatever that of the map
	if len(d) == 0 {
		return report.Interval{}
	}
	if of == than {
		return report.Exact(0)
	}
	return report.Of(stats.Student(d, 0.05/float64(max(comparisons, 1)))).Through(math.Expm1)
}

// sentence says which of several values to take and how sure that is.
func (o *Optimum) sentence(values int) string {
	text := fmt.Sprintf("%d is fastest: take %[1]d", o.Fastest)
	if o.Flat[0] != o.Fastest {
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
	case values > 1:
		text += "; every other size is slower at 95 %"
	}
	return text
}
