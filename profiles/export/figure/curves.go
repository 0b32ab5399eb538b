package figure

import (
	"math"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/export/digest"
)

// Charts returns the charts of a run whose changes of settings are given. Those of a run without
// iterations have no values.
func Charts(d *digest.Digest, changes []export.Change) *Set {
	s := &Set{X: []float64{}, First: []int64{}, Last: []int64{}, Seconds: []float64{}}
	for i := range d.Bins {
		b := &d.Bins[i]
		s.X = append(s.X, float64(b.First+b.Last)/2)
		s.First, s.Last = append(s.First, b.First), append(s.Last, b.Last)
		s.Seconds = append(s.Seconds, float64(b.Start)/1e9)
	}
	for i := range changes {
		s.Marks = append(s.Marks, changes[i].Iteration)
	}
	s.Charts = append(s.Charts, iterationTime(d), phases(d), losses(d))
	for i := range d.Info.Schema.Series {
		if v := &d.Info.Schema.Series[i]; v.Group == profiles.Metrics {
			c := Chart{ID: v.Name, Title: v.Title, Unit: v.Unit, Of: valueUnit(v.Unit),
				Log: v.Scale == profiles.Logarithmic, Reason: v.Absent}
			s.Charts = append(s.Charts, c.with(series(d, i, v.Title)))
		}
	}
	s.Charts = append(s.Charts, hitRates(d), memoryUse(d))
	return s
}

// valueUnit returns the unit that follows a value: a range such as "0 to 1" is none.
func valueUnit(of string) string {
	if of != "" && of[0] >= '0' && of[0] <= '9' {
		return ""
	}
	return of
}

// with adds a curve unless it has no values.
func (c Chart) with(l Line) Chart {
	for _, v := range l.Y {
		if !math.IsNaN(v) && !math.IsInf(v, -1) {
			c.Curves = append(c.Curves, l)
			break
		}
	}
	return c
}

// line returns a curve of a number of each bin.
func line(d *digest.Digest, name string, value func(*digest.Bin) float64) Line {
	l := Line{Name: name}
	for i := range d.Bins {
		l.Y = append(l.Y, value(&d.Bins[i]))
	}
	return l
}

// over returns a/b, NaN if b is 0.
func over(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

func iterationTime(d *digest.Digest) Chart {
	c := Chart{ID: "iteration", Title: "Iteration time", Unit: "ms", Of: "ms", Zero: true,
		Note: "median; shaded: 10th to 90th percentile", Reason: "no iteration ran after warm-up"}
	at := func(q float64) []float64 {
		return line(d, "", func(b *digest.Bin) float64 {
			// The quantiles of bins are those of counts; the extremes are exact.
			return min(max(b.Times.Quantile(q), float64(b.Min)), float64(b.Max)) / 1e6
		}).Y
	}
	most := line(d, "", func(b *digest.Bin) float64 {
		if b.Timed == 0 {
			return math.NaN()
		}
		return float64(b.Max) / 1e6
	})
	return c.with(Line{Name: "median", Y: at(0.5), Low: at(0.1), High: at(0.9), Most: most.Y})
}

func phases(d *digest.Digest) Chart {
	c := Chart{ID: "phases", Title: "Phases", Unit: "ms per iteration", Of: "ms", Stacked: true, Zero: true,
		Note: "mean, stacked", Reason: "no iteration ran after warm-up"}
	rest, total := line(d, "between them", func(b *digest.Bin) float64 {
		rest := b.Total
		for _, ns := range b.Phases {
			rest -= ns
		}
		return over(float64(max(rest, 0))/1e6, float64(b.Timed))
	}), 0.0
	between := 0.0
	for i := range d.Bins {
		total += float64(d.Bins[i].Total) / 1e6
		if d.Bins[i].Timed > 0 {
			between += rest.Y[i] * float64(d.Bins[i].Timed)
		}
	}
	for p := range d.Info.Schema.Phases {
		ran := false
		for i := range d.Bins {
			ran = ran || d.Bins[i].Phases[p] > 0
		}
		if ran {
			c = c.with(line(d, d.Info.Schema.Phases[p].Name, func(b *digest.Bin) float64 {
				return over(float64(b.Phases[p])/1e6, float64(b.Timed))
			}))
		}
	}
	if between > 0.01*total {
		c = c.with(rest)
	}
	return c
}

// series returns a curve of a series, with its extremes as a band if every iteration has a value.
func series(d *digest.Digest, i int, name string) Line {
	l := line(d, name, func(b *digest.Bin) float64 { return b.Series[i].Mean() })
	l.Linked = !d.Info.Schema.Series[i].Each
	return l
}

func losses(d *digest.Digest) Chart {
	c := Chart{ID: "loss", Title: "Loss", Note: "mean", Reason: "no iteration has a loss"}
	for _, i := range d.Info.Schema.Group(profiles.Losses) {
		c.Log = c.Log || d.Info.Schema.Series[i].Scale == profiles.Logarithmic
		c = c.with(series(d, i, d.Info.Schema.Series[i].Title))
	}
	return c
}

func hitRates(d *digest.Digest) Chart {
	c := Chart{ID: "hits", Title: "Cache hit rates", Unit: "%", Of: "%", Whole: true, Note: "hits over lookups",
		Reason: "no cache was asked"}
	for i := range d.Info.Schema.Caches {
		l := line(d, d.Info.Schema.Caches[i].Title, func(b *digest.Bin) float64 {
			if b.Off[i] && b.Lookups[i] == 0 {
				return math.Inf(-1)
			}
			return 100 * over(float64(b.Hits[i]), float64(b.Lookups[i]))
		})
		l.Linked = true
		c = c.with(l)
	}
	return c
}

func memoryUse(d *digest.Digest) Chart {
	c := Chart{ID: "memory", Title: "Memory", Unit: "MB", Of: "MB", Zero: true, Note: "largest",
		Reason: "no reading was taken"}
	add := func(name string, bytes func(*digest.Bin) int64) {
		l := line(d, name, func(b *digest.Bin) float64 { return float64(bytes(b)) / 1e6 })
		some := false
		for k, v := range l.Y {
			if some = some || v > 0; !some {
				l.Y[k] = math.NaN() // before the first reading
			}
		}
		if some {
			c = c.with(l)
		}
	}
	add("process", func(b *digest.Bin) int64 { return b.Resident })
	add("GPU", func(b *digest.Bin) int64 { return b.GPU })
	add("parameters", func(b *digest.Bin) int64 { return b.Parameters })
	add("buffers", func(b *digest.Bin) int64 { return b.Buffers })
	add("caches", func(b *digest.Bin) int64 { return b.Caches })
	return c
}
