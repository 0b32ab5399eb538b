package aggregate

import "prismtop/profiles"

// The recent past: trends of phases, and single iterations.

// trendBins is the number of bins kept. A full trend drops its oldest quarter at
// once, so its line fills and then jumps.
const trendBins = 24

// trendCompared is the number of bins compared with the same number before them.
const trendCompared = 4

// trends collects them.
type trends struct {
	bins   [profiles.MaxPhases + 1][trendBins]float64
	n      int
	at     int64 // number of the open bin
	sums   [profiles.MaxPhases + 1]float64
	counts [profiles.MaxPhases + 1]int64
	view   *profiles.Trends // of the closed bins; nil if it must be rebuilt
}

func (t *trends) add(it *profiles.Iteration) {
	if bin := it.Start / profiles.TrendBin; bin != t.at {
		t.close()
		t.at = bin
	}
	for p, ns := range it.Phases {
		if ns > 0 {
			t.sums[p] += float64(ns)
			t.counts[p]++
		}
	}
	t.sums[profiles.MaxPhases] += float64(it.Total)
	t.counts[profiles.MaxPhases]++
}

// close ends the open bin, unless it is empty.
func (t *trends) close() {
	if t.counts[profiles.MaxPhases] == 0 {
		return
	}
	if t.n == trendBins {
		t.n = trendBins * 3 / 4
		for p := range t.bins {
			copy(t.bins[p][:], t.bins[p][trendBins-t.n:])
		}
	}
	for p := range t.bins {
		t.bins[p][t.n] = 0
		if t.counts[p] > 0 {
			t.bins[p][t.n] = t.sums[p] / float64(t.counts[p])
		}
		t.sums[p], t.counts[p] = 0, 0
	}
	t.n++
	t.view = nil
}

// publish returns the closed bins, which are not modified again.
func (t *trends) publish() *profiles.Trends {
	if t.view == nil {
		t.view = new(profiles.Trends)
		for p := range t.view {
			t.view[p].Bins = append([]float64(nil), t.bins[p][:t.n]...)
			t.view[p].Change, t.view[p].HasChange = changeOf(t.view[p].Bins)
		}
	}
	return t.view
}

// changeOf compares the newest bins with the previous ones.
func changeOf(bins []float64) (change float64, ok bool) {
	if len(bins) < 2*trendCompared {
		return 0, false
	}
	var sums [2]float64
	for i := range 2 * trendCompared {
		v := bins[len(bins)-1-i]
		if v <= 0 {
			return 0, false
		}
		sums[i/trendCompared] += v
	}
	return sums[0]/sums[1] - 1, true
}

// recentTimings is the number of iterations that a snapshot lists individually.
const recentTimings = 512

// timings keeps the newest iterations. Published entries are never modified: new
// ones are appended, and a full array is left to its readers.
type timings []profiles.Timing

func (t *timings) add(it *profiles.Iteration) {
	if len(*t) == cap(*t) {
		more := make([]profiles.Timing, 0, 2*recentTimings)
		*t = append(more, t.newest()...)
	}
	*t = append(*t, profiles.Timing{Index: it.Index, Start: it.Start, Total: it.Total, Phases: it.Phases,
		Flags: it.Flags})
}

// newest returns the last recentTimings iterations, oldest first.
func (t timings) newest() []profiles.Timing {
	n := len(t)
	return t[max(0, n-recentTimings):n:n]
}
