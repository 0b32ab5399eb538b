package profiles

import (
	"fmt"
	"slices"
	"time"
)

// retell is how often the sentence of an alert that stays may change.
const retell = 5 * time.Second

// alarm is what is known of one rule.
type alarm struct {
	active  bool
	pending time.Duration // running time since when it was raised, or not kept
	waiting bool          // pending counts
	told    time.Duration // running time of the newest sentence
	Alert
}

// moment is how many iterations had ended at a running time in nanoseconds, and at a time of
// the machine's clock.
type moment struct {
	clock, count int64
	at           time.Time
}

// alarms judges the rules over and over.
type alarms struct {
	each   [18]alarm // by rule
	shown  []Alert
	pace   throughput
	mark   moment // where the measurement of throughput under way began
	marked bool
	settle bool // the measurement under way does not count

	skips [recentSteps]bool // of the newest iterations
	steps int               // iterations seen

	nonFiniteAt int64
	moved       time.Duration // running time when the newest iteration was taken in
	seen        int64
}

// iteration takes in the next iteration; begins says that it ran under other
// settings than the one before, or does other work.
func (a *alarms) iteration(it *Iteration, begins bool) {
	a.skips[a.steps%recentSteps] = it.Flags&SkippedStep != 0
	a.steps++
	if it.Flags&NonFinite != 0 {
		a.nonFiniteAt = it.Index
	}
	if begins {
		a.pace.clear()
		a.marked, a.settle = false, true
	}
}

// skipped is how many of the newest iterations skipped their step.
func (a *alarms) skipped() (n, of int) {
	of = min(a.steps, recentSteps)
	for _, s := range a.skips[:of] {
		if s {
			n++
		}
	}
	return n, of
}

// measure takes a measurement of throughput when one is due: count iterations
// had ended at clock, nanoseconds of running time. foreign is what other programs
// took between two moments.
func (a *alarms) measure(clock, count int64, now time.Time, foreign func(from, to time.Time) float64) {
	if !a.marked {
		a.mark, a.marked = moment{clock, count, now}, true
		return
	}
	span, done := clock-a.mark.clock, count-a.mark.count
	if span < int64(time.Second) || done < 1 {
		return
	}
	if !a.settle { // the first holds the warm-up
		a.pace.add(float64(done)/(float64(span)/1e9), foreign(a.mark.at, now))
	}
	a.settle = false
	a.mark = moment{clock, count, now}
}

// quiet is the running time since the newest iteration was taken in.
func (a *alarms) quiet(iterations int64, elapsed time.Duration) time.Duration {
	if iterations != a.seen {
		a.seen, a.moved = iterations, elapsed
	}
	return elapsed - a.moved
}

// judge applies the rules to the facts at a running time, and returns a line for
// the log for each alert that went. at is the time since the run began. A run
// that is paused keeps its alerts; of one that ended, those go at once that are
// not so any more.
func (a *alarms) judge(f *facts, elapsed, at time.Duration) (gone []LogLine) {
	// A process that was stopped as a whole finds its loop going on as before.
	f.quiet = max(f.longest, a.quiet(f.iteration, elapsed))
	f.skipped, f.steps = a.skipped()
	f.nonFiniteAt, f.pace = a.nonFiniteAt, &a.pace
	if f.state == Preparing || f.state == Paused {
		return nil
	}
	changed := false
	for i := range rules {
		r, m := &rules[i], &a.each[i]
		v := r.judge(f)
		switch wants := !m.active && v.raised || m.active && !v.kept; {
		case !wants:
			m.waiting = false
		case !m.waiting:
			m.waiting, m.pending = true, elapsed
		}
		limit := r.hold
		if m.active {
			limit = r.release
			if f.state != Running {
				limit = 0
			}
		}
		switch {
		case m.waiting && elapsed-m.pending >= limit && !m.active:
			what, try := v.tell()
			m.active, m.waiting, m.told = true, false, elapsed
			m.Alert = Alert{ID: v.of + r.id, Severity: v.severity, Since: at, Iteration: f.iteration, What: what, Try: try}
			changed = true
		case m.waiting && elapsed-m.pending >= limit:
			m.active, m.waiting = false, false
			gone = append(gone, LogLine{At: at, Text: fmt.Sprintf("over after %v: %s", (at - m.Since).Round(time.Second), m.What)})
			changed = true
		case m.active && v.raised && elapsed-m.told >= retell: // else it would tell of what is all but over
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

// standing are the alerts that stand, the worst first. The caller must not write them.
func (a *alarms) standing() []Alert { return a.shown }

// show lists the alerts anew, the worst first, then the newest.
func (a *alarms) show() {
	a.shown = nil
	for _, m := range a.each {
		if m.active {
			a.shown = append(a.shown, m.Alert)
		}
	}
	slices.SortStableFunc(a.shown, func(x, y Alert) int {
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
