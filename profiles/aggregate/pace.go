package aggregate

import (
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// Running time, rate, and the time that is left.

const (
	rateSpan   = 2 * time.Second // running time over which the rate is measured
	etaSamples = 10              // newest samples used by the estimate
	etaLeast   = 3               // no estimate with fewer samples
)

// pace tracks the running time and the rate of iterations.
type pace struct {
	state   profiles.State
	since   time.Time     // when state began
	running time.Duration // before since

	// clock is the running time according to the iterations: gaps between them
	// count, pauses do not.
	clock   int64
	lastEnd int64
	count   int64 // iterations so far, including lost ones
	paused  bool  // there was a pause since the last iteration
	started bool
	longest int64 // between the ends of two iterations, since the last query

	marks    []mark // at most one per tick, rateSpan of them
	advanced time.Duration
}

// mark is the number of iterations that had ended at a running time.
type mark struct{ clock, count int64 }

// enter notes that the run has been in state since at.
func (p *pace) enter(state profiles.State, at time.Time) {
	p.running = p.elapsed(at)
	p.state, p.since = state, at
	if state != profiles.Running {
		p.paused = true
	}
}

// elapsed returns the time spent Running until now.
func (p *pace) elapsed(now time.Time) time.Duration {
	if p.state != profiles.Running {
		return p.running
	}
	return p.running + max(0, now.Sub(p.since))
}

// iteration adds the next record.
func (p *pace) iteration(it *profiles.Iteration) {
	end := it.Start + it.Total
	switch {
	case !p.started, p.paused:
		p.clock += it.Total
	default:
		p.clock += max(0, end-p.lastEnd)
		if it.Index == p.count { // else some were lost
			p.longest = max(p.longest, end-p.lastEnd)
		}
	}
	if p.state == profiles.Paused { // a single step
		p.running += time.Duration(it.Total)
	} else {
		p.paused = false
	}
	p.started, p.lastEnd, p.count = true, end, it.Index+1
}

// longestGap returns the longest running time between the ends of two iterations
// since the last call.
func (p *pace) longestGap() time.Duration {
	gap := time.Duration(p.longest)
	p.longest = 0
	return gap
}

// rate returns iterations per second of running time over the last rateSpan, from
// the end of one iteration to the end of another; 0 while there are fewer than
// two. The rate of a loop that stalls for longer than rateSpan decreases; that of a run
// that is over does not, because a program takes its time to end.
func (p *pace) rate(now time.Time) float64 {
	elapsed := p.elapsed(now)
	if n := len(p.marks); p.started && (n == 0 || p.marks[n-1].count != p.count) {
		p.marks = append(p.marks, mark{p.clock, p.count})
		p.advanced = elapsed
	}
	if len(p.marks) < 2 {
		return 0
	}
	newest := p.marks[len(p.marks)-1]
	drop := 0
	for drop+2 < len(p.marks) && newest.clock-p.marks[drop+1].clock >= int64(rateSpan) {
		drop++
	}
	p.marks = append(p.marks[:0], p.marks[drop:]...)
	span := newest.clock - p.marks[0].clock
	if stalled := elapsed - p.advanced; stalled > rateSpan && p.state == profiles.Running {
		span += int64(stalled)
	}
	if span <= 0 {
		return 0
	}
	return float64(newest.count-p.marks[0].count) / (float64(span) / 1e9)
}

// progress is the basis for an estimate of the remaining time.
type progress struct {
	units   int // of all passes
	earlier int // units that ended before the results
	results []profiles.UnitResult
	limits  limits
	elapsed time.Duration
	rate    float64
	index   int64 // iterations so far
}

// limits end a run early; 0 is none.
type limits struct {
	iterations int64
	units      int
	seconds    float64
}

// limitsOf returns the limits in the settings.
func limitsOf(v settings.Values, s *profiles.Schema) limits {
	return limits{int64(v.Int(settings.MaxIterations)), v.Int(settings.MaxUnits(s.Unit.Many)),
		v.Number(settings.MaxSeconds)}
}

// remaining estimates the running time until the run ends. It uses the mean time
// of the newest units and is capped by the limits on iterations and seconds; a
// limit alone is an upper bound, used if there is nothing better. ok is false if
// nothing is known.
func (p *progress) remaining() (eta time.Duration, ok bool) {
	seconds := math.Inf(1)
	units := p.units
	if most := p.limits.units; most > 0 {
		units = min(units, max(most, p.earlier+len(p.results)))
	}
	if left := units - p.earlier - len(p.results); len(p.results) >= etaLeast && left >= 0 {
		recent := p.results[max(0, len(p.results)-etaSamples):]
		var sum time.Duration
		for _, r := range recent {
			sum += r.Elapsed
		}
		seconds = sum.Seconds() / float64(len(recent)) * float64(left)
	}
	if p.limits.iterations > 0 && p.rate > 0 {
		seconds = min(seconds, float64(max(0, p.limits.iterations-p.index))/p.rate)
	}
	if p.limits.seconds > 0 {
		seconds = min(seconds, max(0, p.limits.seconds-p.elapsed.Seconds()))
	}
	if seconds > math.MaxInt32 {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
