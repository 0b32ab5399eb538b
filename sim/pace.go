package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/workload"
)

// The pace of a run: how long it takes at most, foretold from its first iterations, and the typical time of one.

// pace gathers the first iterations of a start, to say how long it takes at most. At the boundary it reads the record
// of the iteration, and returns a line for the log; it changes nothing.
type pace struct {
	told  bool
	n     int64
	nanos int64
}

// The pace is known after this time and number of iterations; a run that takes longer than long is warned
// about.
const (
	paceTime  = time.Second
	paceLeast = 20
	paceLong  = 2 * time.Hour
)

// take adds an iteration, those of warm-up aside, and reports whether the pace has just become known.
func (p *pace) take(it *profiles.Iteration) bool {
	if p.told || it.Flags&profiles.Warmup != 0 {
		return false
	}
	p.n++
	p.nanos += it.Total
	p.told = p.n >= paceLeast && p.nanos >= int64(paceTime)
	return p.told
}

// typical gathers what an iteration takes: one alone may have waited for other programs, or compiled a plan.
type typical struct {
	newest [15]int64 // in turn
	n      int64     // so far
}

// take adds an iteration, those of warm-up aside.
func (t *typical) take(it *profiles.Iteration) {
	if it.Flags&profiles.Warmup == 0 {
		t.newest[t.n%int64(len(t.newest))] = it.Total
		t.n++
	}
}

// time returns the median of the newest iterations, 0 before the first.
func (t *typical) time() time.Duration {
	n := min(t.n, int64(len(t.newest)))
	if n == 0 {
		return 0
	}
	all := t.newest
	slices.Sort(all[:n])
	return time.Duration(all[n/2])
}

// forecast says how long the iterations that are left take at most; limit is that of the run in seconds, 0 for none.
// sooner is true if it may end before, when it converges.
func (p *pace) forecast(most, left int64, limit float64, sooner bool) string {
	each := float64(p.nanos) / float64(p.n)
	seconds := each * float64(left) / 1e9
	text := fmt.Sprintf("at most %d iterations, of %s ms so far", most, strings.TrimSpace(unit.Milliseconds(each)))
	switch {
	case limit > 0 && limit < seconds:
		return text + fmt.Sprintf(": ended by max_seconds = %g", limit)
	case seconds > paceLong.Seconds():
		text += ": takes up to " + estimate(seconds)
		if limit == 0 {
			text += "; set max_seconds to bound it"
		}
		return text
	case sooner:
		return text + ": up to " + estimate(seconds) + " more, less if it converges"
	}
	return text + ": " + estimate(seconds) + " more"
}

// estimate formats seconds that may be beyond what a duration holds.
func estimate(seconds float64) string {
	return unit.Estimate(time.Duration(min(seconds, 1e9) * 1e9))
}

// foretell logs how long the run takes at most, once its pace is known.
func (l *loop) foretell() {
	if !l.run.options.Foresee || !l.pace.take(&l.rec) {
		return
	}
	b, ok := l.run.options.Maker.(workload.Bounded)
	if !ok {
		return
	}
	most, sooner := b.Most(l.settings)
	if most <= l.index {
		return
	}
	if c, ok := l.work.(workload.Converger); ok && sooner {
		sooner = c.MayConverge()
	}
	l.run.stream.Log(l.pace.forecast(most, most-l.index, l.settings.Number(settings.MaxSeconds), sooner))
}
