package compare

import (
	"math"

	"prismtop/profiles"
)

// The grid of a run: its iterations in bins of equal numbers, so that runs of any length
// are compared at equal iterations.

// gridBins is the largest number of bins of a grid: a power of two.
const gridBins = 2048

// grid holds a run by its iterations, in bins of equal numbers of them, so that two runs can be
// compared at equal iterations. The size of a bin is a power of two: bins of one grid are whole bins of
// another with the same beginning.
type grid struct {
	size  int64 // iterations of a bin
	first int64 // index of the first iteration of bin 0
	bins  []bin
}

// bin is some iterations.
type bin struct {
	n       int64
	end     int64   // of its last iteration, ns since the start
	seconds float64 // likewise, of running time in the stretch
	time    extent  // milliseconds
	series  [profiles.MaxSeries]extent
	last    profiles.Values           // of the series of every iteration, in the newest
	at      [profiles.MaxSeries]int64 // the iteration of an occasional series' value, numbered from 1
	caches  [profiles.MaxCaches]counted
}

// counted is the state of a cache at the end of a bin.
type counted struct{ hits, misses, bytes int64 }

// extent summarises values.
type extent struct {
	n         int64
	sum       float64
	low, high float64
}

func (e *extent) add(v float64) { e.join(extent{1, v, v, v}) }

func (e *extent) join(f extent) {
	switch {
	case f.n == 0:
	case e.n == 0:
		*e = f
	default:
		*e = extent{e.n + f.n, e.sum + f.sum, min(e.low, f.low), max(e.high, f.high)}
	}
}

// mean is NaN without values.
func (e *extent) mean() float64 {
	if e.n == 0 {
		return math.NaN()
	}
	return e.sum / float64(e.n)
}

// bin returns the bin of an iteration, nil if it is before the first.
func (g *grid) bin(index int64) *bin {
	if g.size == 0 {
		g.size = 1
	}
	i := (index - g.first) / g.size
	if index < g.first {
		return nil
	}
	for ; i >= gridBins; i = (index - g.first) / g.size {
		g.bins = joined(g.bins)
		g.size *= 2
	}
	for int64(len(g.bins)) <= i {
		g.bins = append(g.bins, bin{})
	}
	return &g.bins[i]
}

// joined returns bins of twice the size in the memory of bins.
func joined(bins []bin) []bin {
	for i := range bins {
		if i%2 == 0 {
			bins[i/2] = bins[i]
			continue
		}
		bins[i/2].join(&bins[i])
	}
	return bins[:(len(bins)+1)/2]
}

// join adds the bin that follows.
func (b *bin) join(next *bin) {
	b.n += next.n
	b.time.join(next.time)
	for i := range b.series {
		if next.at[i] > 0 { // of an occasional series the newest counts
			b.series[i], b.at[i] = next.series[i], next.at[i]
			continue
		}
		if b.at[i] == 0 {
			b.series[i].join(next.series[i])
		}
	}
	if next.n > 0 {
		b.end, b.seconds, b.last, b.caches = next.end, next.seconds, next.last, next.caches
	}
}

// iteration adds an iteration that ended at some seconds of running time.
func (g *grid) iteration(it *profiles.Iteration, s *profiles.Schema, seconds float64) {
	b := g.bin(it.Index)
	if b == nil {
		return
	}
	b.n++
	b.last = it.Series
	b.end, b.seconds = it.Start+it.Total+it.Retimed, seconds
	if it.Flags&(profiles.Warmup|profiles.Converged) == 0 && it.Total > 0 {
		b.time.add(float64(it.Total) / 1e6)
	}
	for i := range s.Series {
		if v := it.Series[i]; s.Series[i].Each && finite(v) {
			b.series[i].add(v)
		}
	}
	for i := range s.Caches {
		c := &it.Caches[i]
		b.caches[i] = counted{c.Hits, c.Misses, c.Bytes}
	}
}

// measured adds the values of occasional series.
func (g *grid) measured(m *profiles.Measurement, s *profiles.Schema) {
	b := g.bin(m.Iteration)
	if b == nil {
		return
	}
	for i := range s.Series {
		if v := m.Values[i]; !s.Series[i].Each && !math.IsNaN(v) {
			b.series[i] = extent{1, v, v, v}
			b.at[i] = m.Iteration + 1
		}
	}
}

// coarse returns the grid with bins of a larger size, which must be a multiple of its own by a power
// of two.
func (g *grid) coarse(size int64) grid {
	c := grid{size: g.size, first: g.first, bins: append([]bin(nil), g.bins...)}
	for c.size < size {
		c.bins, c.size = joined(c.bins), 2*c.size
	}
	return c
}

// whole returns the number of bins from the first on that are complete; of a run that began later, as
// a resumed one does, the first ones may be empty.
func (g *grid) whole() int {
	n := len(g.bins)
	if n > 0 && g.bins[n-1].n < g.size {
		n--
	}
	return n
}

// end returns the last bin that has iterations; an empty one if there is none.
func (g *grid) end() *bin {
	for i := len(g.bins) - 1; i >= 0; i-- {
		if g.bins[i].n > 0 {
			return &g.bins[i]
		}
	}
	return &bin{}
}

// curve returns a number over the run.
func (g *grid) curve(of func(*bin) extent) []Point {
	size := max(g.size, 1)
	for (int64(len(g.bins))*g.size+size-1)/size > CurvePoints {
		size *= 2
	}
	c := g.coarse(size)
	var points []Point
	for i := range c.bins {
		b := &c.bins[i]
		e := of(b)
		if e.n == 0 || !finite(e.mean()) {
			continue
		}
		middle := (float64(i) + 0.5) * float64(c.size)
		points = append(points, Point{Iteration: middle, Seconds: b.seconds, Value: e.mean(), Lowest: e.low,
			Highest: e.high})
	}
	return points
}

// finite reports whether a value is a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
