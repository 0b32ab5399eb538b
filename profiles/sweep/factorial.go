package sweep

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// Effects and interactions of a sweep whose arms are every combination of two values of some settings.

// Factorial are the effects of settings and their interactions.
type Factorial struct {
	Factors []Factor
	Terms   []Term // the settings, then their pairs, and so on
	Runs    int    // complete replicates
}

// Factor is a setting with its two values.
type Factor struct{ Key, Off, On string }

// Term is the effect of a setting, averaged over the others, or an interaction of several: how much the effect of one
// differs where the others are on.
type Term struct {
	Of      []int // the factors
	Name    string
	Time    Difference // ratio of times less 1
	Quality Difference // in its unit
}

// mostFactors bounds the settings of a factorial.
const mostFactors = 6

// factorial analyses the arms if they are a factorial design; otherwise it says why they are none.
func (m *maker) factorial() (*Factorial, string) {
	factors, cells, why := m.factors()
	if why != "" {
		return nil, why
	}
	f := &Factorial{Factors: factors}
	k := len(factors)
	var times, qualities [][]float64 // of each complete replicate, by combination
	for r := range m.folder.Replicates {
		row, of := make([]float64, 1<<k), make([]float64, 1<<k)
		complete := true
		for on, arm := range cells {
			s := m.done[Cell{arm, r + 1}]
			if complete = s != nil && m.each(s) > 0; !complete {
				break
			}
			row[on], of[on] = math.Log(m.each(s)), valueOf(s.Quality)
		}
		if complete {
			times, qualities = append(times, row), append(qualities, of)
		}
	}
	if f.Runs = len(times); f.Runs == 0 {
		return nil, "no replicate has a run of every combination yet"
	}
	for of := uint(1); of < 1<<k; of++ {
		t := Term{}
		for i := range k {
			if of>>i&1 == 1 {
				t.Of = append(t.Of, i)
				t.Name += " × " + factors[i].Key
			}
		}
		t.Name = strings.TrimPrefix(t.Name, " × ")
		f.Terms = append(f.Terms, t)
	}
	slices.SortStableFunc(f.Terms, func(a, b Term) int { return len(a.Of) - len(b.Of) })
	intervals := float64(2 * len(f.Terms))
	for i := range f.Terms {
		t := &f.Terms[i]
		of := uint(0)
		for _, factor := range t.Of {
			of |= 1 << factor
		}
		t.Time = term(of, k, times, profiles.EqualWithin, intervals, math.Expm1)
		t.Quality = term(of, k, qualities, 0, intervals, func(v float64) float64 { return v })
	}
	return f, ""
}

// term estimates a contrast of every complete replicate.
func term(of uint, k int, rows [][]float64, margin, intervals float64, shown func(float64) float64) Difference {
	var values []float64
	for _, row := range rows {
		values = append(values, contrast(of, k, row))
	}
	values = known(values)
	d := Difference{Estimate: through(meanOf(values, chance), shown)}
	strict := through(meanOf(values, chance/intervals), shown)
	d.Finding = stats.Zero(margin).Judge(strict.Low, strict.High)
	return d
}

// contrast returns the effect of the factors in of, a bit each, averaged over the others: the mean of the combinations
// by the product of their signs, as in Box, Hunter and Hunter 2005, Statistics for Experimenters, chapter 5. Unlike
// there, an interaction is the whole difference of one effect between the other's values, not half of it.
func contrast(of uint, k int, values []float64) (sum float64) {
	among, all := float64(int(1)<<(k-bits.OnesCount(of))), 0.0
	for on, v := range values {
		all += math.Abs(v) / among
		if (bits.OnesCount(of)-bits.OnesCount(of&uint(on)))%2 == 1 {
			v = -v
		}
		sum += v / among
	}
	if math.Abs(sum) <= float64(len(values))*ulp*all {
		return 0
	}
	return sum
}

// ulp bounds the rounding of a sum's step: what a contrast of equal numbers in different orders leaves is no effect.
const ulp = 0x1p-52

// factors returns the settings in which the arms differ, and the arm of each combination: bit i of the index is set
// where factor i has its second value. why says what is missing.
func (m *maker) factors() (all []Factor, cells []int, why string) {
	arms := m.folder.Arms
	values := map[string][]string{}
	var keys []string
	for i := range arms {
		a := &arms[i]
		if a.Kind != arms[0].Kind || a.Program != arms[0].Program || a.Preset != arms[0].Preset ||
			!slices.Equal(a.Args, arms[0].Args) {
			return nil, nil, "the arms differ in more than settings"
		}
		for _, s := range a.Set {
			if !slices.Contains(keys, s.Key) {
				keys = append(keys, s.Key)
			}
			if !slices.Contains(values[s.Key], s.Value) {
				values[s.Key] = append(values[s.Key], s.Value)
			}
		}
	}
	get := func(arm int, key string) string {
		for _, s := range arms[arm].Set {
			if s.Key == key {
				return s.Value
			}
		}
		return ""
	}
	for _, key := range keys {
		first := get(0, key)
		for arm := range arms {
			if v := get(arm, key); !slices.Contains(values[key], v) { // left to the preset
				values[key] = append([]string{v}, values[key]...)
			}
		}
		switch of := values[key]; {
		case len(of) == 1:
		case len(of) > 2:
			return nil, nil, fmt.Sprintf("%s has %d values: must be two", key, len(of))
		default:
			f := Factor{Key: key, Off: first, On: of[0]}
			if f.On == first {
				f.On = of[1]
			}
			all = append(all, f)
		}
	}
	switch {
	case len(all) < 2:
		return nil, nil, "the arms do not differ in two settings or more"
	case len(all) > mostFactors:
		return nil, nil, fmt.Sprintf("the arms differ in %d settings: must be at most %d", len(all), mostFactors)
	case len(arms) != 1<<len(all):
		return nil, nil, fmt.Sprintf("%d arms are not every combination of %d settings: must be %d", len(arms),
			len(all), 1<<len(all))
	}
	cells = make([]int, len(arms))
	taken := make([]bool, len(arms))
	for arm := range arms {
		on := 0
		for i, f := range all {
			if get(arm, f.Key) == f.On {
				on |= 1 << i
			}
		}
		if taken[on] {
			return nil, nil, "two arms have the same settings"
		}
		cells[on], taken[on] = arm, true
	}
	return all, cells, ""
}
