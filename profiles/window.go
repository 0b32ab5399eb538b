package profiles

import (
	"slices"

	"prismtop/profiles/stats"
)

// windowSize bounds the recent window: the iterations since the last change of a
// setting or stage, without warm-up.
const windowSize = 512

// window holds the newest iterations that ran under one set of settings.
type window struct {
	total  [windowSize]int64
	phases [NumPhases][windowSize]int64
	// lookups are the caches' counters before each iteration.
	lookups [windowSize][NumCaches]lookups
	n       int // iterations held
	next    int // where the next one goes

	scratch [windowSize]int64
}

// lookups is what a cache was asked, what it holds and what it saved.
type lookups struct{ hits, misses, capacity, entries, saved, priced, gross int64 }

func (w *window) reset() { w.n, w.next = 0, 0 }

// add takes it in; before is the iteration that preceded it, in the window or not.
func (w *window) add(it, before *Iteration) {
	i := w.next
	w.total[i] = it.Total
	for p := range NumPhases {
		w.phases[p][i] = it.Phases[p]
	}
	for c := range NumCaches {
		b := &before.Caches[c]
		w.lookups[i][c] = lookups{b.Hits, b.Misses, b.CapacityMisses, b.Entries, b.Saved, b.Priced, b.Gross}
	}
	w.next = (i + 1) % windowSize
	w.n = min(w.n+1, windowSize)
}

// times summarises the window.
func (w *window) times() Times {
	var t Times
	t.Total = w.spread(&w.total)
	sum := t.Total.Mean * float64(t.Total.N)
	for p := range NumPhases {
		s := w.spread(&w.phases[p])
		t.Phases[p].Spread = s
		if sum > 0 {
			t.Phases[p].Share = s.Mean * float64(s.N) / sum
		}
	}
	return t
}

// spread summarises the values above 0: a phase that did not run has no time.
func (w *window) spread(values *[windowSize]int64) Spread {
	sorted := w.scratch[:0]
	for _, v := range values[:w.n] {
		if v > 0 {
			sorted = append(sorted, v)
		}
	}
	if len(sorted) == 0 {
		return Spread{}
	}
	s := Spread{N: len(sorted), Mean: stats.Mean(sorted)}
	for back := 1; back <= w.n && s.Last == 0; back++ {
		s.Last = float64(max(values[(w.next+windowSize-back)%windowSize], 0))
	}
	slices.Sort(sorted)
	s.P10, s.Median = stats.Quantile(sorted, 0.10), stats.Quantile(sorted, 0.50)
	s.P90, s.P95 = stats.Quantile(sorted, 0.90), stats.Quantile(sorted, 0.95)
	return s
}

// caches is each cache at the newest iteration with its rate over the window.
func (w *window) caches(newest *Iteration) [NumCaches]CacheView {
	var views [NumCaches]CacheView
	for c := range NumCaches {
		views[c].CacheCounters = newest.Caches[c]
		if w.n == 0 {
			continue
		}
		from := w.lookups[(w.next+windowSize-w.n)%windowSize][c]
		hits := newest.Caches[c].Hits - from.hits
		misses := newest.Caches[c].Misses - from.misses
		views[c].RecentN = hits + misses
		// What a hit is worth is known better after it.
		priced := newest.Caches[c].Priced - from.priced
		views[c].RecentSaved = newest.Caches[c].Saved - from.saved - (newest.Caches[c].Gross - from.gross) + priced*newest.Caches[c].Price
		views[c].RecentDropped = max(0, misses-(newest.Caches[c].Entries-from.entries))
		views[c].RecentCapacity = newest.Caches[c].CapacityMisses - from.capacity
		views[c].RecentIterations = w.n
		if views[c].RecentN > 0 {
			views[c].RecentRate = float64(hits) / float64(views[c].RecentN)
		}
	}
	return views
}
