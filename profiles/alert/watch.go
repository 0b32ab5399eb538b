package alert

import (
	"fmt"
	"math"
	"slices"
	"time"

	"prismtop/profiles"
)

// The watch: the facts of a run as it goes, and which alerts stand.

// retell is the minimum time between changes of the sentence of an active alert while the run goes on.
const retell = 5 * time.Second

// entry is the state of one rule.
type entry struct {
	active  bool
	pending time.Duration // running time at which it was first raised, or not kept
	waiting bool          // pending counts
	told    time.Duration // running time of the newest sentence
	profiles.Alert
}

// moment is the number of iterations that had ended at a running time in nanoseconds, and at
// a time of the machine's clock.
type moment struct {
	clock, count int64
	at           time.Time
}

// Watch evaluates the rules repeatedly.
type Watch struct {
	each   [14 + 2*profiles.MaxCaches]entry // by rule
	shown  []profiles.Alert
	pace   throughput
	mark   moment // start of the current measurement of throughput
	marked bool
	settle bool // the current measurement does not count

	skips [recentSteps]bool // of the newest iterations
	steps int               // iterations seen

	quality     quality
	nonFiniteAt int64
	moved       time.Duration // running time at the newest iteration
	waited      time.Duration // the longest between two iterations
	remaining   time.Duration // Facts.Remaining while it ran, and its AtMost
	atMost      bool
	seen        int64
}

// Iteration adds the next iteration; begins means that it ran under settings
// different from the previous one's, or does different work.
func (a *Watch) Iteration(it *profiles.Iteration, begins bool) {
	a.skips[a.steps%recentSteps] = it.Flags&profiles.SkippedStep != 0
	a.steps++
	if it.Flags&profiles.NonFinite != 0 {
		a.nonFiniteAt = it.Index
	}
	if begins {
		a.pace.clear()
		a.marked, a.settle = false, true
	}
}

// quality is the course of the series that measures the quality of the result.
type quality struct {
	best, newest     float64
	bestAt, newestAt int64 // iterations
	measured, better bool  // there is a value, and a later one that improved on it
}

// qualityGain is the least improvement, as a share of the best value: less is the wander of a plateau.
const qualityGain = 0.001

// Quality adds a measurement of the quality after an iteration.
func (a *Watch) Quality(value float64, direction profiles.Direction, iteration int64) {
	q := &a.quality
	if math.IsNaN(value) || math.IsInf(value, 0) || direction == profiles.NoBetter {
		return
	}
	gain := value - q.best
	if direction == profiles.LessIsBetter {
		gain = -gain
	}
	q.newest, q.newestAt = value, iteration
	if !q.measured || gain > qualityGain*math.Abs(q.best) {
		q.best, q.bestAt, q.better, q.measured = value, iteration, q.measured, true
	}
}

// skipped returns how many of the newest iterations skipped their step.
func (a *Watch) skipped() (n, of int) {
	of = min(a.steps, recentSteps)
	for _, s := range a.skips[:of] {
		if s {
			n++
		}
	}
	return n, of
}

// Measure takes a measurement of throughput if one is due: count iterations had
// ended at clock, nanoseconds of running time. foreign returns the load by other
// programs between two moments.
func (a *Watch) Measure(clock, count int64, now time.Time, foreign func(from, to time.Time) float64) {
	if !a.marked {
		a.mark, a.marked = moment{clock, count, now}, true
		return
	}
	span, done := clock-a.mark.clock, count-a.mark.count
	if span < int64(time.Second) || done < 1 {
		return
	}
	if !a.settle { // the first contains the warm-up
		a.pace.add(float64(done)/(float64(span)/1e9), foreign(a.mark.at, now))
	}
	a.settle = false
	a.mark = moment{clock, count, now}
}

// quiet returns the running time since the newest iteration.
func (a *Watch) quiet(iterations int64, elapsed time.Duration) time.Duration {
	if iterations != a.seen {
		a.waited = max(a.waited, elapsed-a.moved)
		a.seen, a.moved = iterations, elapsed
	}
	return elapsed - a.moved
}

// Hold passes over a time in which the run rightly ends no iteration, as while it is forked.
func (a *Watch) Hold(iterations int64, elapsed time.Duration) { a.seen, a.moved = iterations, elapsed }

// Judge applies the rules to the facts at a running time, and returns a log line
// for each cleared alert. at is the time since the run began. A paused run keeps
// its alerts, and the end of a run clears none: an active alert is judged as in the run's last moment.
func (a *Watch) Judge(f *Facts, elapsed, at time.Duration) (gone []profiles.LogLine) {
	// After the whole process was stopped, its loop continues as before.
	f.quiet = max(f.Longest, a.quiet(f.Iteration, elapsed))
	f.waited = a.waited
	f.skipped, f.steps = a.skipped()
	f.nonFiniteAt, f.pace, f.quality = a.nonFiniteAt, &a.pace, a.quality
	if f.State == profiles.Preparing || f.State == profiles.Paused {
		return nil
	}
	last := *f // as if the run had not ended
	if f.State == profiles.Running {
		a.remaining, a.atMost = f.Remaining, f.AtMost
	} else {
		last.State, last.Remaining, last.AtMost = profiles.Running, a.remaining, a.atMost
	}
	changed := false
	for i := range rules {
		r, m := &rules[i], &a.each[i]
		of := f
		if m.active {
			of = &last
		}
		v := r.judge(of)
		switch wants := !m.active && v.raised || m.active && !v.kept; {
		case !wants:
			m.waiting = false
		case !m.waiting:
			m.waiting, m.pending = true, elapsed
		}
		limit := r.hold
		if m.active {
			limit = r.release
		}
		switch {
		case m.waiting && elapsed-m.pending >= limit && !m.active:
			what, try := v.tell()
			m.active, m.waiting, m.told = true, false, elapsed
			m.Alert = profiles.Alert{ID: v.of + r.id, Severity: v.severity, Since: at, Iteration: f.Iteration,
				What: what, Try: try}
			changed = true
		case m.waiting && elapsed-m.pending >= limit:
			m.active, m.waiting = false, false
			gone = append(gone, profiles.LogLine{At: at, Text: fmt.Sprintf("cleared after %v: %s",
				(at - m.Since).Round(time.Second), m.What)})
			changed = true
		// otherwise it would report a problem that is almost over
		case m.active && v.raised && elapsed-m.told >= retell,
			m.active && v.kept && f.State != profiles.Running: // the run has ended: this is what stays
			what, try := v.tell()
			changed = changed || what != m.What || try != m.Try || v.severity != m.Severity
			m.What, m.Try, m.Severity, m.told = what, try, v.severity, elapsed
		}
	}
	if changed {
		a.show()
	}
	return gone
}

// Standing returns the active alerts, worst first. The caller must not modify them.
func (a *Watch) Standing() []profiles.Alert { return a.shown }

// show rebuilds the list of alerts: worst first, then newest.
func (a *Watch) show() {
	a.shown = nil
	for _, m := range a.each {
		if m.active {
			a.shown = append(a.shown, m.Alert)
		}
	}
	slices.SortStableFunc(a.shown, func(x, y profiles.Alert) int {
		switch {
		case x.Severity != y.Severity:
			return int(y.Severity) - int(x.Severity)
		case x.Since > y.Since:
			return -1
		case x.Since < y.Since:
			return 1
		}
		return 0
	})
}

// Clone returns a watch in the same state, which shares nothing that either modifies.
func (a *Watch) Clone() Watch {
	c := *a
	c.pace.rates, c.pace.foreign = slices.Clone(a.pace.rates), slices.Clone(a.pace.foreign)
	return c
}
