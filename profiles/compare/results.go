package compare

import (
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
)

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

// align brings all recordings to bins of one size and to the iterations that all have. upTo is their
// number, 0 if there is none.
func align(sides [][]*Sample) (all []aligned, upTo int64) {
	size, most := int64(1), int64(math.MaxInt64)
	for _, side := range sides {
		for _, s := range side {
			size = max(size, s.grid.size)
		}
	}
	all = make([]aligned, len(sides))
	for i, side := range sides {
		for _, s := range side {
			g := s.grid.coarse(size)
			all[i].schemas, all[i].grids = append(all[i].schemas, &s.schema), append(all[i].grids, g)
			most = min(most, int64(g.whole()))
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
	if int64(skip) == most {
		return all, 0
	}
	return all, most * size
}

// at returns the level of a series at the last common iteration: for each recording the mean of the
// last window, or of an occasional series the value there.
func (a *aligned) at(name string) (values []float64) {
	for r := range a.grids {
		g, i := &a.grids[r], a.schemas[r].SeriesNamed(name)
		v := math.NaN()
		if i >= 0 {
			v = g.mean(i, len(g.bins)*(windows-1)/windows, len(g.bins), a.schemas[r].Each(i))
		}
		values = append(values, v)
	}
	return values
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
// that computed the same bits do.
func (g *grid) same(h *grid, s *profiles.Schema) bool {
	if len(g.bins) == 0 || len(g.bins) != len(h.bins) {
		return false
	}
	any := false
	for i := range g.bins {
		for j := range s.Series {
			a, b := &g.bins[i].series[j], &h.bins[i].series[j]
			if s.Series[j].Each && *a != *b {
				return false
			}
			any = any || s.Series[j].Each && a.n > 0
		}
	}
	return any
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

// quality appends the rows of the results.
func (t *table) quality() {
	all, upTo := align(t.samples)
	schema := &t.samples[0][0].schema
	if upTo == 0 {
		return
	}
	for i := range schema.Series {
		info := &schema.Series[i]
		if info.Internal {
			continue
		}
		absolute := info.Scale != profiles.Logarithmic
		row := Row{Group: Quality, Name: info.Name, Title: info.Title + " at " + fmt.Sprint(upTo), Unit: short(info.Unit), Better: info.Better, Absolute: absolute}
		if info.Group == profiles.Losses {
			row.Title = "loss " + row.Title
		}
		values := make([][]float64, len(all))
		measured := false
		for k := range all {
			values[k] = all[k].at(info.Name)
			l := levelOf(singles(values[k]))
			row.Values = append(row.Values, Value{Value: l.value, Floor: all[k].floor(info, absolute)})
			if math.IsNaN(l.value) {
				row.Values[k].Reason = "it was not measured"
			} else {
				measured = true
			}
		}
		if !measured {
			continue
		}
		t.rows = append(t.rows, pending{row: row, fixed: !t.allReplicated(), judge: func(row *Row, k int, miss float64) {
			t.judgeQuality(row, k, info, values, all, miss)
		}})
		t.atTheEnd(info, row)
	}
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
func (t *table) judgeQuality(row *Row, k int, info *profiles.SeriesInfo, values [][]float64, all []aligned, miss float64) {
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
		d.Value, d.Low, d.High, d.Verdict = d.Raw, d.Raw, d.Raw, Equal // the same bits; an occasional series may have been measured elsewhere
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

// atTheEnd adds a row of a result at the ends of the recordings, if these are not at equal iterations.
func (t *table) atTheEnd(info *profiles.SeriesInfo, like Row) {
	differ := false
	lengths := make([]string, len(t.samples))
	for k, side := range t.samples {
		lengths[k] = fmt.Sprint(side[0].reached())
		differ = differ || side[0].reached() != t.samples[0][0].reached()
	}
	if !differ {
		return
	}
	row := like
	row.Name, row.Title, row.Values = like.Name+"_end", strings.TrimSuffix(like.Title, like.Title[strings.LastIndex(like.Title, " at "):])+" at the end", nil
	for _, side := range t.samples {
		var last []float64
		for _, s := range side {
			v := math.NaN()
			if i := s.schema.SeriesNamed(info.Name); i >= 0 {
				n := len(s.grid.bins)
				if v = s.grid.mean(i, n*(windows-1)/windows, n, info.Each); !info.Each {
					v = s.grid.mean(i, 0, n, false)
				}
			}
			last = append(last, v)
		}
		row.Values = append(row.Values, Value{Value: levelOf(singles(last)).value, Floor: math.NaN()})
	}
	t.addFixed(row, func(row *Row, k int) {
		row.Against[k-1].no("after "+lengths[0]+" and "+lengths[k]+" iterations", "other length")
	})
}
