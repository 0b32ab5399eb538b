package aggregate

import (
	"math"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// windowSize bounds the recent window: the iterations since the last change of a
// setting or kind, without warm-up.
const windowSize = 512

// window holds the newest iterations under one set of settings.
type window struct {
	total  [windowSize]int64
	phases [][windowSize]int64 // up to the last that ever ran
	// lookups are the caches' counters before each iteration, up to the last cache that was ever asked.
	lookups [][windowSize]lookups
	n       int  // iterations held
	next    int  // index of the next one
	over    bool // they are kept until there is a newer one

	scratch [windowSize]int64
}

// lookups is a cache's lookups, contents and savings.
type lookups struct {
	hits, misses, capacity, entries, saved, priced, gross, spent int64
	squares                                                      float64
}

func (w *window) reset() { w.n, w.next, w.over = 0, 0, false }

// end is reset as soon as there is an iteration of the new settings: the blocks of a comparison follow one another so
// fast that else there would often be none.
func (w *window) end() { w.over = true }

// add adds an iteration; before is the preceding one, in the window or not.
func (w *window) add(it, before *profiles.Iteration) {
	if w.over {
		w.reset()
	}
	i := w.next
	w.total[i] = it.Total
	for p, ns := range it.Phases {
		if ns != 0 {
			w.phases = reaching(w.phases, p)
		}
	}
	for p := range w.phases {
		w.phases[p][i] = it.Phases[p]
	}
	for c := range it.Caches {
		if it.Caches[c] != (profiles.CacheCounters{}) {
			w.lookups = reaching(w.lookups, c)
		}
	}
	for c := range w.lookups {
		b := &before.Caches[c]
		w.lookups[c][i] = lookups{b.Hits, b.Misses, b.CapacityMisses, b.Entries, b.Saved, b.Priced, b.Gross, b.Spent,
			b.SpentSquares}
	}
	w.next = (i + 1) % windowSize
	w.n = min(w.n+1, windowSize)
}

// reaching returns s with an element at an index.
func reaching[E any](s []E, index int) []E {
	for len(s) <= index {
		s = append(s, *new(E))
	}
	return s
}

// times summarises the window.
func (w *window) times() profiles.Times {
	var t profiles.Times
	t.Total = w.spread(&w.total)
	sum := t.Total.Mean * float64(t.Total.N)
	for p := range w.phases {
		s := w.spread(&w.phases[p])
		t.Phases[p].Spread = s
		if sum > 0 {
			t.Phases[p].Share = s.Mean * float64(s.N) / sum
		}
	}
	return t
}

// spread summarises the values above 0: a phase that did not run has no time.
func (w *window) spread(values *[windowSize]int64) profiles.Spread {
	sorted := w.scratch[:0]
	for _, v := range values[:w.n] {
		if v > 0 {
			sorted = append(sorted, v)
		}
	}
	if len(sorted) == 0 {
		return profiles.Spread{}
	}
	s := profiles.Spread{N: len(sorted), Mean: stats.Mean(sorted)}
	for back := 1; back <= w.n && s.Last == 0; back++ {
		s.Last = float64(max(values[(w.next+windowSize-back)%windowSize], 0))
	}
	slices.Sort(sorted)
	s.P10, s.Median = stats.Quantile(sorted, 0.10), stats.Quantile(sorted, 0.50)
	s.P90, s.P95 = stats.Quantile(sorted, 0.90), stats.Quantile(sorted, 0.95)
	return s
}

// caches returns each cache at the newest iteration, with its rate over the
// window.
func (w *window) caches(newest *profiles.Iteration) [profiles.MaxCaches]profiles.CacheView {
	var views [profiles.MaxCaches]profiles.CacheView
	for c := range profiles.MaxCaches {
		views[c].CacheCounters = newest.Caches[c]
		if w.n > 0 && c < len(w.lookups) {
			recent(&views[c], &w.lookups[c][(w.next+windowSize-w.n)%windowSize], w.n)
		}
	}
	return views
}

// recent fills in the counts over the given number of iterations, from the counters
// before them.
func recent(v *profiles.CacheView, from *lookups, iterations int) {
	hits, misses := v.Hits-from.hits, v.Misses-from.misses
	v.RecentN = hits + misses
	v.RecentDropped = max(0, misses-(v.Entries-from.entries))
	v.RecentCapacity = v.CapacityMisses - from.capacity
	v.RecentIterations = iterations
	if v.RecentN > 0 {
		v.RecentRate = float64(hits) / float64(v.RecentN)
	}
	// The value of a hit is known better afterwards.
	priced, spent := v.Priced-from.priced, v.Spent-from.spent
	v.RecentSaved = v.Saved - from.saved - (v.Gross - from.gross) + priced*v.Price
	gross := v.RecentSaved + spent
	s := profiles.NewSaving(float64(gross), float64(gross-priced*(v.Price-v.PriceLow)),
		float64(gross+priced*(v.PriceHigh-v.Price)),
		float64(v.RecentN), float64(spent), v.SpentSquares-from.squares, true)
	v.RecentLow, v.RecentHigh = int64(math.Floor(s.Low)), int64(math.Ceil(s.High))
}
