package aggregate

import (
	"math"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
)

// The load by other programs: its readings, and the share of it in each iteration.

const (
	// loadEvery is the interval between readings of the processor time: at the
	// usual 100 ticks per second it resolves a share of about a hundredth per
	// processor.
	loadEvery = 500 * time.Millisecond
	// loadSpan is the period of the newest share.
	loadSpan = 2 * time.Second
	// loadCalm is how long other programs must have been quiet before they are no
	// longer mentioned.
	loadCalm = 5 * time.Second
	// loadMarks bounds the readings kept: two minutes of them.
	loadMarks = 240
)

// loads is the record of the load by other programs.
type loads struct {
	marks []loadMark // oldest first
	view  profiles.LoadView
}

// runLoad is the load over the time that a run ran.
type runLoad struct {
	taken float64       // seconds of all processors
	span  time.Duration // that was read
	until time.Duration // running time at the newest reading
	begun bool          // there was a reading
}

// loadMark is a reading.
type loadMark struct {
	at time.Time
	machine.Load
}

// due reports whether a reading is due. A reading needed at once replaces the newest one
// if that is too recent to give a share.
func (l *loads) due(now time.Time, atOnce bool) bool {
	if l.view.Reason != "" {
		return false
	}
	since := l.since(now)
	return since >= loadEvery || atOnce && since > 0
}

// since returns the time from the newest reading to now.
func (l *loads) since(now time.Time) time.Duration {
	if n := len(l.marks); n > 0 {
		return now.Sub(l.marks[n-1].at)
	}
	return loadEvery
}

// take adds a reading.
func (l *loads) take(now time.Time, load machine.Load) {
	n, since := len(l.marks), l.since(now)
	next := loadMark{now, load}
	if l.view.Reason = next.Reason; l.view.Reason != "" {
		l.marks, l.view.Known, l.view.Considerable = nil, false, false
		return
	}
	switch {
	case since < loadEvery && n > 1:
		l.marks[n-1] = next
	case n == loadMarks:
		l.marks = append(l.marks[:0], l.marks[1:]...)
		fallthrough
	default:
		l.marks = append(l.marks, next)
	}
	if l.view.Known = now.Sub(l.marks[0].at) >= loadSpan; l.view.Known {
		l.view.Foreign, _ = l.between(now.Add(-loadSpan), now)
		recent, _ := l.between(now.Add(-loadCalm), now)
		l.view.Considerable = l.view.Foreign > machine.Quiet || l.view.Considerable && recent > machine.Quiet/2
	}
}

// between returns the share used by others from one time to another, weighting
// each interval between readings by its overlap; times outside all readings count
// as the nearest interval. known is false without two readings.
func (l *loads) between(from, to time.Time) (share float64, known bool) {
	n := len(l.marks)
	if n < 2 {
		return 0, false
	}
	first, _ := slices.BinarySearchFunc(l.marks, from, func(m loadMark, t time.Time) int { return m.at.Compare(t) })
	first = min(max(first, 1), n-1)
	sum, weight := 0.0, 0.0
	for i := first; i < n && (i == first || l.marks[i-1].at.Before(to)); i++ {
		a, b := &l.marks[i-1], &l.marks[i]
		within := earlier(b.at, to).Sub(later(a.at, from)).Seconds()
		within = max(within, 1e-9) // for an empty period, or one outside the readings
		sum += within * b.Since(a.Load).Foreign()
		weight += within
	}
	return sum / weight, true
}

// share is between with NaN for unknown.
func (l *loads) share(from, to time.Time) float64 {
	share, known := l.between(from, to)
	if !known {
		return math.NaN()
	}
	return share
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// takeLoad handles a reading of the processor time.
func (a *Aggregator) takeLoad(b *profiles.Load, at time.Time) {
	known := a.loads.view.Reason == ""
	a.beside.add(a.loads.marks, b, a.pace.elapsed(at))
	a.loads.take(at, b.Load)
	if reason := a.loads.view.Reason; known && reason != "" {
		a.log = keepNewest(append(a.log, profiles.LogLine{
			Text: "the load by other programs is unknown, and effects are not checked for it: " + reason}), maxLog)
	}
}

// add weighs the share since the newest mark by the time the run ran meanwhile; ran is its running time so far.
func (r *runLoad) add(marks []loadMark, b *profiles.Load, ran time.Duration) {
	if n := len(marks); n > 0 && r.begun && b.Reason == "" && ran > r.until {
		r.taken += (ran - r.until).Seconds() * b.Since(marks[n-1].Load).Foreign()
		r.span += ran - r.until
	}
	r.until, r.begun = ran, true
}

// loadView returns the load by other programs, with that over the whole run.
func (a *Aggregator) loadView() profiles.LoadView {
	v := a.loads.view
	if v.WholeKnown = v.Reason == "" && a.beside.span >= loadEvery; v.WholeKnown {
		v.Whole = a.beside.taken / a.beside.span.Seconds()
	}
	return v
}

// standing reports whether the run is not running while iterations wait for the next
// reading.
func (a *Aggregator) standing() bool {
	return a.pace.state != profiles.Running && a.effects.Awaiting()
}

// settle assigns iterations the known shares of other programs; all of them if the
// run is not running.
func (a *Aggregator) settle() {
	l, last := &a.loads, a.standing()
	n := len(l.marks)
	switch {
	case !a.effects.Awaiting(), a.pace.state > profiles.Paused && !last:
	case l.view.Reason != "":
		a.effects.Settle(math.MaxInt64, func(int64, int64) float64 { return math.NaN() })
	case n > 1:
		until := int64(l.marks[n-1].at.Sub(a.began))
		if last {
			until = math.MaxInt64
		}
		a.effects.Settle(until, func(start, end int64) float64 {
			return l.share(a.began.Add(time.Duration(start)), a.began.Add(time.Duration(end)))
		})
	}
}

// takeAblation adopts a new state of an ablation, with the load by other programs
// since it began.
func (a *Aggregator) takeAblation(next *profiles.Ablation, now time.Time) {
	with := *next
	with.Start = a.start()
	if a.ablation == nil || !a.ablation.Running {
		a.ablatingSince = now
	} else {
		with.Start = a.ablation.Start
	}
	with.Foreign, with.ForeignKnown = a.loads.between(a.ablatingSince, now)
	if a.ablation = &with; with.HasTable() {
		a.compared = a.ablation
	}
}
