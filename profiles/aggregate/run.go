package aggregate

import (
	"context"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/watching"
)

// The ticks of an aggregator by itself, thinned by the cost of watching, held, and offered to a slow reader.

const (
	// leastInterval is the minimum interval of Run: 10 snapshots per second.
	leastInterval = 100 * time.Millisecond
	// drainInterval is how often events are taken between two ticks that are farther apart, so
	// that none are lost.
	drainInterval = 250 * time.Millisecond
)

// pacing is the state of Run.
type pacing struct {
	interval time.Duration
	at       time.Time     // of the next step
	step     watching.Step // at that time
	held     bool
	drained  bool // events were taken since the last tick
	forking  bool // a fork is under way
}

// Run ticks every interval, at most 10 times a second, and offers the snapshots
// until ctx ends; then it ticks once more, offers the last snapshot and closes
// the channel. A tick that finds nothing new offers nothing. With Options.Watching, that
// determines the times of the ticks. Run may be called only once, and not together with
// Tick.
func (a *Aggregator) Run(ctx context.Context, interval time.Duration) {
	defer close(a.over)
	defer close(a.offers)
	defer a.thin(false)
	a.interval, a.at = max(interval, leastInterval), time.Now()
	a.offer(a.Tick(a.at))
	timer := time.NewTimer(min(a.plan(), drainInterval))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			a.offer(a.Tick(time.Now()))
			return
		case h := <-a.holds:
			a.hold(h.on)
			close(h.done)
		case <-a.inputs:
			if w := a.options.Watching; w == nil || a.held || !w.Attend() {
				continue
			}
			a.step, a.at = watching.Light, time.Now()
		case <-timer.C:
			if left := time.Until(a.at); left > time.Millisecond {
				a.Drain(time.Now())
				timer.Reset(min(left, drainInterval))
				continue
			}
		}
		a.carryOut()
		timer.Reset(min(a.plan(), drainInterval))
	}
}

// Drain consumes events without a tick, so that none are lost between two that are far apart.
func (a *Aggregator) Drain(now time.Time) {
	a.drained = a.drain() || a.drained
	if a.options.Tape != nil {
		a.options.Tape.Drained(now)
	}
}

// carryOut does what is planned for now.
func (a *Aggregator) carryOut() {
	switch {
	case a.held:
		a.Drain(time.Now())
		return
	case a.step == watching.Dark:
		a.thin(true)
		return
	case a.step == watching.Light:
		a.thin(false)
	}
	before := a.Last()
	if s := a.Tick(time.Now()); s != before {
		a.offer(s)
	}
}

// plan determines the next step and returns the time until then.
func (a *Aggregator) plan() time.Duration {
	wait := a.interval
	switch w := a.options.Watching; {
	case a.held:
		wait = drainInterval
	case w != nil:
		sparse := a.sparse()
		if a.step, wait = w.Next(a.mayCompare()); a.step == watching.Frame && a.sparse() != sparse {
			a.thin(false)
		}
	}
	now := time.Now()
	if a.at = a.at.Add(wait); a.at.Before(now) { // a step took longer
		a.at = now
	}
	return a.at.Sub(now)
}

// mayCompare reports whether iterations may be compared with unwatched ones: the run is running,
// and no other experiment is.
func (a *Aggregator) mayCompare() bool {
	return a.pace.state == profiles.Running && !a.forking && (a.ablation == nil || !a.ablation.Running)
}

// sparse is the factor by which the work done only to be watched is rarer than usual.
func (a *Aggregator) sparse() int {
	if w := a.options.Watching; w != nil {
		return w.Density().Sparse
	}
	return 1
}

// thin suspends the work that the run does only to be watched, or sets its rate.
func (a *Aggregator) thin(dark bool) {
	if a.thinner != nil {
		a.thinner.Thin(dark, a.sparse())
	}
}

// watchingCost returns the cost of watching.
func (a *Aggregator) watchingCost() (c profiles.WatchingCost) {
	if w := a.options.Watching; w != nil {
		c = w.Cost()
	}
	return c
}

// Attend reports a user's input: a dark block ends at once, and snapshots come at the full rate
// for a while. It may be called from any goroutine and returns immediately.
func (a *Aggregator) Attend() {
	select {
	case a.inputs <- struct{}{}:
	default:
	}
}

// hold is a request of Hold.
type hold struct {
	on   bool
	done chan struct{} // closed when it is in force
}

// Hold suspends watching while on is set: no snapshots are made, and the run does no work only to
// be watched. It takes effect before Hold returns, and does nothing once Run has ended.
func (a *Aggregator) Hold(on bool) {
	h := hold{on, make(chan struct{})}
	select {
	case a.holds <- h:
		<-h.done
	case <-a.over:
	}
}

// hold begins or ends a suspension.
func (a *Aggregator) hold(on bool) {
	a.held = on
	if w := a.options.Watching; w != nil {
		w.Resume()
	}
	a.step, a.at = watching.Light, time.Now()
	a.thin(on)
}

// offer replaces an unread snapshot. Run is the only sender, so the slot is free
// once it was emptied.
func (a *Aggregator) offer(s *profiles.Snapshot) {
	select {
	case a.offers <- s:
		return
	default:
	}
	select {
	case <-a.offers:
	default:
	}
	a.offers <- s
}
