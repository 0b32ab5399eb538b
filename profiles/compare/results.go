package compare

import (
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
)

// Rows of results: series of runs brought to equal iterations, and whether a difference is more than their noise.

const (
	// apart is how far the result of a run may move by rounding alone, as a share of the value: the
	// losses of equal trainings that differ in the last bit of the weights (docs/accuracy.md).
	apart = 0.02
	// windows is the number of parts of the common iterations in which results are compared.
	windows = 8
	// residentApart is how far the resident memory of equal runs differs by when garbage is collected,
	// and residentLeast the bytes of any program that come on top.
	residentApart = 0.1
	residentLeast = 4e6
	// rateWithin is the largest difference of a hit rate that counts as none.
	rateWithin = 0.01
)

// aligned are the recordings of a side in bins of equal size, up to the last iteration that all
// recordings of the comparison have.
type aligned struct {
	schemas []*profiles.Schema
	grids   []grid
}

// align brings all recordings to bins of one size and to the iterations that all have, counted from 1, where sentences
// and documents number them from 0. upTo is the last of them, 0 if there is none, and from the first of the last
// window, over which series of every iteration are averaged.
func align(sides [][]*Sample) (all []aligned, from, upTo int64) {
	size, ends, together := int64(1), sides[0][0].reached(), true
	for _, side := range sides {
		for _, s := range side {
			size, together = max(size, s.grid.size), together && s.reached() == ends
		}
	}
	all, most := make([]aligned, len(sides)), math.MaxInt
	for i, side := range sides {
		for _, s := range side {
			g := s.grid.coarse(size)
			all[i].schemas, all[i].grids = append(all[i].schemas, &s.schema), append(all[i].grids, g)
			if together {
				most = min(most, len(g.bins))
			} else {
				most = min(most, g.whole())
			}
		}
	}
	skip := 0 // bins at the beginning that a resumed run lacks
	for i := range all {
		for j := range all[i].grids {
			g := &all[i].grids[j]
			g.bins = g.bins[:most]
			empty := 0
			for empty < len(g.bins) && g.bins[empty].n == 0 {
				empty++
			}
			skip = max(skip, empty)
		}
	}
	for i := range all {
		for j := range all[i].grids {
			all[i].grids[j].bins = all[i].grids[j].bins[skip:]
		}
	}
	if skip == most {
		return all, 0, 0
	}
	upTo = int64(most) * size
	if together {
		upTo = ends
	}
	return all, int64(skip+(most-skip)*(windows-1)/windows)*size + 1, upTo
}

// at returns a series of each recording at the last common iteration: the mean over the last window, or of an
// occasional series the newest value, with the iteration that it was measured in.
func (a *aligned) at(info *profiles.SeriesInfo) (values []float64, measured []int64) {
	for r := range a.grids {
		g, i := &a.grids[r], a.schemas[r].SeriesNamed(info.Name)
		v, at := math.NaN(), int64(0)
		switch {
		case i >= 0 && info.Each:
			v = g.mean(i, len(g.bins)*(windows-1)/windows, len(g.bins), true)
		case i >= 0:
			v, at = g.newest(i, false)
		}
		values, measured = append(values, v), append(measured, at)
	}
	return values, measured
}

// newest returns a series' value of the newest iteration, or of an occasional series the newest value and the
// iteration that it was measured in, counted from 1.
func (g *grid) newest(series int, each bool) (v float64, measured int64) {
	for i := len(g.bins) - 1; i >= 0; i-- {
		switch b := &g.bins[i]; {
		case each && b.n > 0:
			return b.last[series], 0
		case !each && b.series[series].n > 0:
			return b.series[series].mean(), b.at[series] - g.first
		}
	}
	return math.NaN(), 0
}

// mean returns the mean of a series over bins; of an occasional series the value at the end.
func (g *grid) mean(series, from, to int, each bool) float64 {
	var e extent
	for i := to - 1; i >= from; i-- {
		if s := &g.bins[i].series[series]; s.n > 0 {
			if e.join(*s); !each {
				break
			}
		}
	}
	return e.mean()
}

// roughness returns how far a series strays from a line through its neighbouring windows, which is
// noise rather than progress: the largest such distance.
func (g *grid) roughness(series int, each bool, of func(float64) float64) (r float64) {
	var means []float64
	n := len(g.bins)
	for w := range windows {
		if m := g.mean(series, n*w/windows, n*(w+1)/windows, each); !math.IsNaN(m) {
			means = append(means, of(m))
		}
	}
	for i := 2; i < len(means); i++ {
		r = max(r, math.Abs(means[i]-2*means[i-1]+means[i-2])/2)
	}
	return r
}

// same reports whether two grids have the same values of every series of every iteration, as runs
// that computed the same bits do. Of most of them: a loop that is not watched in every step lacks some.
func (g *grid) same(h *grid, s *profiles.Schema) bool {
	if len(g.bins) == 0 || len(g.bins) != len(h.bins) {
		return false
	}
	common, lacking := 0, 0
	for i := range g.bins {
		for j := range s.Series {
			switch a, b := &g.bins[i].series[j], &h.bins[i].series[j]; {
			case !s.Series[j].Each || a.n == 0 && b.n == 0:
			case a.n != b.n:
				lacking++
			case *a != *b:
				return false
			default:
				common++
			}
		}
	}
	return common > lacking
}

// same reports whether all recordings of two sides computed the same bits.
func (a *aligned) same(b *aligned) bool {
	for _, side := range []*aligned{a, b} {
		for i := range side.grids {
			if !side.grids[i].same(&a.grids[0], a.schemas[0]) {
				return false
			}
		}
	}
	return true
}

// apart reports whether some stretches do not begin at the same iteration of their runs, so that they have no equal
// iterations.
func (t *table) apart() bool {
	for _, side := range t.samples {
		for _, s := range side {
			if s.grid.first != t.samples[0][0].grid.first {
				return true
			}
		}
	}
	return false
}

// ofOneRun reports whether two samples are stretches of one start of one recording.
func (s *Sample) ofOneRun(o *Sample) bool { return s.run.Path == o.run.Path && s.began.Equal(o.began) }

// whyApart says why the results of a side and the base are not comparable where stretches begin apart, in full and in
// a few words.
func (t *table) whyApart(k int) (reason, brief string) {
	a, b := t.samples[0][0], t.samples[k][0]
	earlier, later := Letter(0), Letter(k)
	if b.grid.first < a.grid.first {
		a, b, earlier, later = b, a, later, earlier
	}
	switch from := b.grid.first; {
	case a.ofOneRun(b) && from == a.last+1:
		return fmt.Sprintf("%s goes on from where %s ends, so its results have %s's training in them", later, earlier,
			earlier), "goes on from " + earlier
	case a.ofOneRun(b) && from > a.last:
		return fmt.Sprintf("%s is a later part of the run of %s, so its results have %s's training in them", later,
			earlier, earlier), "later than " + earlier
	case from == a.grid.first:
		return "other stretches begin at other iterations of their runs, so there are none that all have in common",
			"begin apart"
	}
	return fmt.Sprintf("%s begins at iteration %d of its run and %s at %d, so their results are of different training",
		earlier, a.grid.first, later, b.grid.first), "begin apart"
}

// quality appends the rows of the results.
func (t *table) quality() {
	if t.apart() {
		for i := range t.samples[0][0].schema.Series {
			if info := &t.samples[0][0].schema.Series[i]; !info.Internal {
				t.atTheEnd(info, resultRow(info), nil)
			}
		}
		return
	}
	all, from, upTo := align(t.samples)
	schema := &t.samples[0][0].schema
	if upTo == 0 {
		return
	}
	for i := range schema.Series {
		info := &schema.Series[i]
		if info.Internal {
			continue
		}
		row := resultRow(info)
		end := row
		values := make([][]float64, len(all))
		found, places := false, map[int64]bool{}
		for k := range all {
			var at []int64
			values[k], at = all[k].at(info)
			v := Value{Value: levelOf(singles(values[k])).value, Floor: all[k].floor(info, row.Absolute)}
			if info.Fixed {
				v = exact(values[k], "")
			}
			if v.At = at[0]; math.IsNaN(v.Value) {
				v.Reason = "it was not measured"
			} else {
				found = true
			}
			for _, place := range at {
				places[place] = true
			}
			row.Values = append(row.Values, v)
		}
		if !found {
			continue
		}
		switch {
		case info.Each:
			last := fmt.Sprintf("last %d", upTo-from+1)
			row.Name, row.Title, row.About = row.Name+"_mean", row.Title+", "+last,
				fmt.Sprintf("%s: mean of iterations %d to %d", last, from-1, upTo-1)
		case len(places) == 1 && !places[0]:
			row.Title += fmt.Sprintf(" at %d", row.Values[0].At-1)
		default:
			by := fmt.Sprintf("by %d", upTo-1)
			row.Title, row.About = row.Title+" "+by, by+": the newest measurement"+whereMeasured(row.Values)
		}
		t.rows = append(t.rows, pending{row: row, fixed: !t.allReplicated(),
			judge: func(row *Row, k int, miss float64) {
				if other := t.otherObjective(k); info.Group == profiles.Losses && other != "" {
					row.Against[k-1].no("the losses measure something else: "+other, "other loss")
					return
				}
				t.judgeQuality(row, k, info.Fixed, values, all, miss)
			}})
		t.atTheEnd(info, end, all)
	}
}

// resultRow returns the row of a series without values.
func resultRow(info *profiles.SeriesInfo) Row {
	return Row{Group: Quality, Name: info.Name, Title: info.Alone(), Unit: short(info.Unit), Better: info.Better,
		Absolute: info.Scale != profiles.Logarithmic}
}

// whereMeasured lists the iterations that the sides' values were measured in, which are those of the first recordings.
func whereMeasured(values []Value) (text string) {
	for k, v := range values {
		if v.At > 0 {
			text += fmt.Sprintf(", %s at iteration %d", Letter(k), v.At-1)
		}
	}
	return text
}

// short drops what a unit explains besides.
func short(unit string) string {
	if unit == "0 to 1" {
		return ""
	}
	unit, _, _ = strings.Cut(unit, " of ")
	return unit
}

// singles returns each value as a series.
func singles(values []float64) [][]float64 {
	all := make([][]float64, len(values))
	for i, v := range values {
		all[i] = []float64{v}
	}
	return all
}

// scaleOf returns the scale on which a series is compared.
func scaleOf(absolute bool) func(float64) float64 {
	if absolute {
		return func(v float64) float64 { return v }
	}
	return math.Log
}

// floor is the most that a series of a side strays by itself, as a difference of the row.
func (a *aligned) floor(info *profiles.SeriesInfo, absolute bool) (most float64) {
	for r := range a.grids {
		if i := a.schemas[r].SeriesNamed(info.Name); i >= 0 {
			most = max(most, a.grids[r].roughness(i, info.Each, scaleOf(absolute)))
		}
	}
	if !absolute {
		most = math.Expm1(most)
	}
	return most
}

// judgeQuality judges a result at equal iterations.
func (t *table) judgeQuality(row *Row, k int, fixed bool, values [][]float64, all []aligned, miss float64) {
	d, of := &row.Against[k-1], scaleOf(row.Absolute)
	logs := func(k int) level {
		scaled := make([]float64, len(values[k]))
		for i, v := range values[k] {
			scaled[i] = of(v)
		}
		return levelOf(singles(scaled))
	}
	a, b := logs(0), logs(k)
	v := b.value - a.value
	switch {
	case !finite(v):
		d.no("it was not measured on both sides", "not on both sides")
		return
	case all[0].same(&all[k]):
		d.Value, d.Low, d.High, d.Verdict = d.Raw, d.Raw, d.Raw, Equal
		switch from, to := row.Values[0].At, row.Values[k].At; {
		case d.Raw == 0:
		case from == to:
			d.no("the runs computed the same bits, and it is of iterations of which one recording lacks some",
				"measured elsewhere")
		default:
			d.no(fmt.Sprintf("the runs computed the same bits, and it was measured after %d and %d iterations", from,
				to), "measured elsewhere")
		}
		return
	case fixed:
		row.exactly(k, 0)
		return
	}
	m := 0.0
	if t.replicated(k) {
		m = margin(a, b, true, miss)
	} else {
		if t.seedsDiffer(k) {
			d.no("the seeds differ, and one run a side does not show how much a seed matters", "other seed")
			return
		}
		least := apart
		if row.Absolute {
			least *= max(math.Abs(values[0][0]), math.Abs(values[k][0]))
		}
		m = least + 2*max(row.Values[0].Floor, row.Values[k].Floor)
	}
	d.Value, d.Low, d.High = v, v-m, v+m
	if !row.Absolute {
		d.Value, d.Low, d.High = math.Expm1(v), math.Expm1(v-m), math.Expm1(v+m)
	}
	equal := EqualWithin
	if row.Absolute {
		equal *= math.Abs(values[0][0])
	}
	d.say(Less, More, false, equal)
}

// atTheEnd adds a row of a result at the ends of the recordings. An occasional series has it only where these are not
// at equal iterations. all is nil where the stretches begin apart.
func (t *table) atTheEnd(info *profiles.SeriesInfo, row Row, all []aligned) {
	apart := all == nil
	differ, found := apart, false
	lengths := make([]string, len(t.samples))
	for k, side := range t.samples {
		for _, s := range side {
			differ = differ || s.reached() != t.samples[0][0].reached()
		}
		lengths[k] = fmt.Sprint(side[0].reached())
	}
	if !differ && !info.Each {
		return
	}
	if differ {
		row.Title += ", end"
	} else {
		row.Title += fmt.Sprintf(" at %d", t.samples[0][0].reached()-1)
	}
	row.Name += "_end"
	for _, side := range t.samples {
		var last []float64
		at := int64(0)
		for r, s := range side {
			v, measured := math.NaN(), s.reached()
			if i := s.schema.SeriesNamed(info.Name); i >= 0 {
				if v, measured = s.grid.newest(i, info.Each); info.Each {
					measured = s.reached()
				}
			}
			if apart && measured > 0 {
				measured += s.grid.first
			}
			if last = append(last, v); r == 0 {
				at = measured
			}
			found = found || !math.IsNaN(v)
		}
		row.Values = append(row.Values, Value{Value: levelOf(singles(last)).value, Floor: math.NaN(), At: at})
	}
	if !found {
		return
	}
	t.addFixed(row, func(row *Row, k int) {
		d := &row.Against[k-1]
		switch {
		case apart:
			d.no(t.whyApart(k))
		case differ:
			d.no("after "+lengths[0]+" and "+lengths[k]+" iterations", "other length")
		case all[0].same(&all[k]):
			d.Value, d.Low, d.High, d.Verdict = d.Raw, d.Raw, d.Raw, Equal
		default:
			d.no("the value of a single iteration; what is judged is the mean", "see the mean")
		}
	})
}
