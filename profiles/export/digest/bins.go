package digest

import (
	"math"

	"prismtop/profiles"
)

// Curves of bounded length: bins of iterations that are joined in pairs when they are too many.

// Most is the largest number of bins.
const Most = 512

// Bin sums up neighbouring iterations. Times are nanoseconds; those of warm-up iterations are left out.
type Bin struct {
	First, Last int64 // indices
	Start       int64 // of the first, since the run began
	N           int64 // iterations
	Timed       int64 // of them those that are in the times
	Total       int64 // sum
	Min, Max    int64
	Times       profiles.Bins // of the whole iterations
	Phases      [profiles.MaxPhases]int64
	Series      [profiles.MaxSeries]Values
	Hits        [profiles.MaxCaches]int64
	Lookups     [profiles.MaxCaches]int64
	Off         [profiles.MaxCaches]bool // in one of the iterations at least

	// Memory in bytes, the largest readings; 0 for none.
	Resident, Parameters, Buffers, Caches int64
	// GPU is what is in use on the run's GPU, by any program; 0 for none.
	GPU int64
}

// Values sums up the finite values of a series.
type Values struct {
	N        int64
	Sum      float64
	Min, Max float64
	Last     float64
}

// Mean returns the mean value; NaN if there are none.
func (v *Values) Mean() float64 {
	if v.N == 0 {
		return math.NaN()
	}
	return v.Sum / float64(v.N)
}

// add adds a value; one that is not finite is left out.
func (v *Values) add(x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	v.join(&Values{1, x, x, x, x})
}

// join adds later values.
func (v *Values) join(w *Values) {
	switch {
	case w.N == 0:
	case v.N == 0:
		*v = *w
	default:
		*v = Values{v.N + w.N, v.Sum + w.Sum, min(v.Min, w.Min), max(v.Max, w.Max), w.Last}
	}
}

// counters are those of the caches at an iteration.
type counters [profiles.MaxCaches]struct{ hits, lookups int64 }

// memory is the newest readings of it.
type memory struct {
	resident, parameters, buffers, gpu int64
	device                             string // the run's GPU
}

// iteration adds an iteration.
func (d *Digest) iteration(it *profiles.Iteration) {
	last := len(d.Bins) - 1
	if last < 0 || d.Bins[last].First/d.width != it.Index/d.width {
		if len(d.Bins) == Most {
			d.halve()
		}
		if last = len(d.Bins) - 1; last < 0 || d.Bins[last].First/d.width != it.Index/d.width {
			d.Bins = append(d.Bins, Bin{First: it.Index, Start: it.Start})
			last++
		}
	}
	b := &d.Bins[last]
	b.Last = it.Index
	b.N++
	if it.Flags&profiles.Warmup == 0 {
		if b.Timed == 0 || it.Total < b.Min {
			b.Min = it.Total
		}
		b.Max = max(b.Max, it.Total)
		b.Timed++
		b.Total += it.Total
		b.Times = b.Times.Add(float64(it.Total))
		for p, ns := range it.Phases {
			b.Phases[p] += ns
		}
	}
	for i := range d.Info.Schema.Series {
		if d.Info.Schema.Series[i].Each {
			b.Series[i].add(it.Series[i])
		}
	}
	caches := int64(0)
	for i := range d.Info.Schema.Caches {
		c, before := &it.Caches[i], &d.before[i]
		lookups := c.Hits + c.Misses
		b.Hits[i] += max(0, c.Hits-before.hits)
		b.Lookups[i] += max(0, lookups-before.lookups)
		b.Off[i] = b.Off[i] || !c.Enabled
		before.hits, before.lookups = c.Hits, lookups
		caches += c.Bytes
	}
	b.Caches = max(b.Caches, caches)
	d.remember()
}

// remember keeps the newest readings of memory in the newest bin: of readings that follow one another
// quickly a stream keeps only the last, which may come after the iterations of its time.
func (d *Digest) remember() {
	if n := len(d.Bins); n > 0 {
		b := &d.Bins[n-1]
		b.Resident, b.Parameters = max(b.Resident, d.memory.resident), max(b.Parameters, d.memory.parameters)
		b.Buffers, b.GPU = max(b.Buffers, d.memory.buffers), max(b.GPU, d.memory.gpu)
	}
}

// measure adds values that were measured after an iteration.
func (d *Digest) measure(m *profiles.Measurement) {
	at := len(d.Bins) - 1
	for at > 0 && d.Bins[at].First > m.Iteration {
		at--
	}
	if at < 0 {
		return
	}
	for i := range d.Info.Schema.Series {
		if !d.Info.Schema.Series[i].Each {
			d.Bins[at].Series[i].add(m.Values[i])
		}
	}
}

// halve doubles the width of the bins until at most half of the room is taken.
func (d *Digest) halve() {
	for len(d.Bins) > Most/2 {
		d.width *= 2
		joined := d.Bins[:1]
		for i := 1; i < len(d.Bins); i++ {
			if last := &joined[len(joined)-1]; last.First/d.width == d.Bins[i].First/d.width {
				last.join(&d.Bins[i])
			} else {
				joined = append(joined, d.Bins[i])
			}
		}
		clear(d.Bins[len(joined):])
		d.Bins = joined
	}
}

// join adds a later bin.
func (b *Bin) join(c *Bin) {
	b.Last = c.Last
	b.N += c.N
	if c.Timed > 0 {
		if b.Timed == 0 || c.Min < b.Min {
			b.Min = c.Min
		}
		b.Max = max(b.Max, c.Max)
		b.Timed += c.Timed
		b.Total += c.Total
		b.Times = b.Times.Join(c.Times)
	}
	for i := range b.Phases {
		b.Phases[i] += c.Phases[i]
	}
	for i := range b.Series {
		b.Series[i].join(&c.Series[i])
	}
	for i := range b.Hits {
		b.Hits[i] += c.Hits[i]
		b.Lookups[i] += c.Lookups[i]
		b.Off[i] = b.Off[i] || c.Off[i]
	}
	b.Resident, b.Parameters = max(b.Resident, c.Resident), max(b.Parameters, c.Parameters)
	b.Buffers, b.Caches, b.GPU = max(b.Buffers, c.Buffers), max(b.Caches, c.Caches), max(b.GPU, c.GPU)
}

// Median returns the median time of an iteration in nanoseconds, accurate to 1 %; NaN if none was timed.
func (d *Digest) Median() float64 {
	var all profiles.Bins
	for i := range d.Bins {
		all = all.Join(d.Bins[i].Times)
	}
	return all.Quantile(0.5)
}

// Latest returns the newest value of the series of a name; NaN for none.
func (d *Digest) Latest(name string) float64 {
	if i := d.Info.Schema.SeriesNamed(name); i >= 0 {
		return d.latest(i)
	}
	return math.NaN()
}

// latest returns the newest value of a series; NaN for none.
func (d *Digest) latest(series int) float64 {
	for i := len(d.Bins) - 1; i >= 0; i-- {
		if v := &d.Bins[i].Series[series]; v.N > 0 {
			return v.Last
		}
	}
	return math.NaN()
}
