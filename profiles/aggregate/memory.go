package aggregate

import (
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// Memory over the run, and the slope that a leak has.

const (
	trendPoints = 120              // readings needed for a trend
	trendLeast  = 30 * time.Second // running time they must cover
	trendCalm   = 3 * time.Second  // ignored after a change: plans are compiled, pages touched
	trendEvery  = 5 * time.Second  // between two fits, of some milliseconds each
	trendWidth  = 8                // maximum seconds covered by a reading
)

// memoryWatch keeps the history and the trend of memory. Its size is bounded.
type memoryWatch struct {
	rss, parameters, buffers, caches, gpu series

	initial  int64         // RSS of the first reading
	calm     time.Duration // readings before this running time are ignored
	readings []reading
	width    int // seconds between two kept readings
	skipped  int // readings since the last one kept
	trend    profiles.MemoryTrend
	fitted   time.Duration // running time of the last fit
}

// reading is memory at one running time.
type reading struct {
	at                       time.Duration
	rss, caches, collectable int64
	iteration                int64
}

// begin drops the readings: new ones are under other settings.
func (w *memoryWatch) begin(elapsed time.Duration) {
	w.calm = elapsed + trendCalm
	w.readings, w.width, w.skipped = w.readings[:0], 1, 0
	w.trend = profiles.MemoryTrend{Needed: trendCalm + trendLeast}
	w.fitted = 0
}

// read adds a reading of memory at an iteration and a running time.
func (w *memoryWatch) read(schema *profiles.Schema, m *profiles.MemoryView, caches, collectable, iteration int64,
	elapsed time.Duration) {
	parameters, buffers := m.Sums(schema)
	w.parameters.add(iteration, float64(parameters))
	w.buffers.add(iteration, float64(buffers))
	w.caches.add(iteration, float64(caches))
	if m.RSS == 0 {
		return
	}
	if w.initial == 0 {
		w.initial = m.RSS
	}
	w.rss.add(iteration, float64(m.RSS))
	if elapsed < w.calm {
		w.trend.Needed = w.calm - elapsed + trendLeast
		return
	}
	if w.skipped++; w.skipped < w.width {
		return
	}
	w.skipped = 0
	w.keep(reading{elapsed, m.RSS, caches, collectable, iteration})
	span := elapsed - w.readings[0].at
	if span < trendLeast {
		w.trend.Needed = trendLeast - span
		return
	}
	if !w.trend.Known || elapsed-w.fitted >= trendEvery {
		w.fit()
		w.fitted = elapsed
	}
}

// keep adds a reading. A full list is thinned to every other reading, until a
// reading covers trendWidth seconds; from then on the oldest is dropped.
func (w *memoryWatch) keep(r reading) {
	if len(w.readings) == trendPoints && w.width < trendWidth {
		for i := range trendPoints / 2 {
			w.readings[i] = w.readings[2*i+1]
		}
		w.readings = w.readings[:trendPoints/2]
		w.width *= 2
	}
	if len(w.readings) == trendPoints {
		copy(w.readings, w.readings[1:])
		w.readings = w.readings[:trendPoints-1]
	}
	w.readings = append(w.readings, r)
}

// fit draws the line.
func (w *memoryWatch) fit() {
	n := len(w.readings)
	first, last := w.readings[0], w.readings[n-1]
	minutes, rss, rest := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, r := range w.readings {
		minutes[i] = (r.at - first.at).Minutes()
		rss[i], rest[i] = float64(r.rss), float64(r.rss-r.caches-r.collectable)
	}
	whole, beyond, lately := stats.TheilSen(minutes, rss), stats.TheilSen(minutes, rest),
		stats.TheilSen(minutes[n*3/4:], rest[n*3/4:])
	if math.IsNaN(whole.Slope) || math.IsNaN(beyond.Slope) || math.IsNaN(lately.Slope) {
		return
	}
	span := (last.at - first.at).Minutes()
	w.trend = profiles.MemoryTrend{
		Known: true, Span: last.at - first.at, N: n,
		PerMinute: whole.Slope, Low: whole.Low, High: whole.High,
		CachesPerMinute: float64(last.caches-first.caches) / span,
		Beyond:          beyond.Slope, BeyondLow: beyond.Low, BeyondHi: beyond.High, Lately: lately.Slope,
	}
	if iterations := float64(last.iteration - first.iteration); iterations > 0 {
		w.trend.PerThousand = whole.Slope * span / iterations * 1000
	}
}

// history returns the curves so far.
func (w *memoryWatch) history() profiles.MemoryHistory {
	return profiles.MemoryHistory{RSS: w.rss.curve(), Parameters: w.parameters.curve(), Buffers: w.buffers.curve(),
		Caches: w.caches.curve(), GPU: w.gpu.curve()}
}
