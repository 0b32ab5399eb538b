// Package watching measures what watching a run costs it while it is being watched, and thins the
// watching if that is more than a budget.
//
// Every second or two, watching stops for a quarter of a second, a dark block: no snapshot is
// built, no frame drawn, no picture, comparison with the truth or layer profile made. The time of
// an iteration in the block is compared with that in equal parts before and after it, so that a
// steady drift of the run cancels. Two frames are missing, which is not noticeable.
//
// Dark blocks are compared, not a thin density with a full one: that would measure only the
// difference of the two, and the rest would have to be extrapolated from the processor time of
// watching, which leaves out how threads and caches get in each other's way. The comparison is of
// mean times, including the gaps between iterations, not of medians: a frame delays one iteration
// in ten, which no median shows.
//
// The package has no clock and no goroutine. Its caller reports every iteration, and asks after
// each frame what comes next.
package watching

import (
	"math/rand/v2"
	"time"
)

// The schedule: when watching stops for a dark block, and what the caller does next.

// Step is what the caller does after the wait that comes with it.
type Step uint8

// The steps.
const (
	Frame Step = iota // build a snapshot
	Dark              // stop watching
	Light             // go on watching, with a snapshot at once
)

const (
	// settling is the time between a frame and a dark block, in which the frame is drawn and
	// sent.
	settling = 50 * time.Millisecond
	// darkLeast is the length of a dark block unless iterations are long: with settling, two
	// frames at full density.
	darkLeast = 250 * time.Millisecond
	// darkMost bounds its length. Slower runs are not measured.
	darkMost = time.Second
	// darkIterations is the minimum length in iterations: at least two whole ones.
	darkIterations = 3.5
	// litLeast is the minimum length of the parts before and after a block, and litIterations
	// that in iterations: the one in which a block begins is in neither part, and with few others
	// the frame in it would be missed.
	litLeast      = 500 * time.Millisecond
	litIterations = 10
	// jitter is the maximum random delay of a block, so that blocks are not in step with
	// anything else.
	jitter = 300 * time.Millisecond
	// rest is the delay once the cost is known precisely.
	rest = 5 * time.Second
	// precise is half the width of the interval of a precisely known cost.
	precise = 0.0025
	// attention is the number of frames at full density after a user's input.
	attention = 20
)

// Options configure a Schedule.
type Options struct {
	// Budget is the share of the run's speed that watching may cost, 0 to 1; 0 is no limit.
	Budget float64
	// Seed seeds the delays of the dark blocks.
	Seed uint64
}

// Schedule decides when to watch, and measures the cost. It is not safe for concurrent use.
type Schedule struct {
	options Options
	random  *rand.Rand

	phase     Step // the step before the next one
	attentive int  // frames left at full density

	trial trial
	rests int64 // no block before this time of the run, in nanoseconds

	ledger
}

// New returns a schedule that has seen nothing.
func New(o Options) *Schedule {
	return &Schedule{options: o, random: rand.New(rand.NewPCG(o.Seed, 0xda4c))}
}

// Next returns the step after the one before, and the wait until then. allowed is false while a
// dark block would disturb something, or while there is nothing to measure.
func (s *Schedule) Next(allowed bool) (Step, time.Duration) {
	switch {
	case s.phase == Dark:
		s.phase = Light
		return Light, s.darkLength()
	case s.attentive > 0:
		s.attentive--
		allowed = false
	}
	s.phase = Frame
	if !allowed {
		s.trial.void()
		return Frame, s.period()
	}
	if s.due() {
		s.phase = Dark
		return Dark, settling
	}
	return Frame, s.period()
}

// Attend responds to a user's input: the response must not wait, and frames follow at full
// density for a while. It reports whether watching must go on at once, with the step Light.
func (s *Schedule) Attend() (now bool) {
	now = s.phase != Frame || s.level > 0 && s.attentive == 0
	s.phase, s.attentive = Frame, attention
	s.trial.void()
	return now
}

// Resume goes on with watching after the caller suspended it by itself.
func (s *Schedule) Resume() {
	s.phase = Frame
	s.trial.void()
}

// Void drops the current comparison: the run was paused, restarted or changed.
func (s *Schedule) Void() { s.trial.void() }

// period returns the time between two frames.
func (s *Schedule) period() time.Duration {
	if s.attentive > 0 {
		return levels[0].Period
	}
	return s.Density().Period
}

// due reports whether a dark block may begin: there is enough to compare it with, iterations are
// not too long for it, and the last one was some time ago.
func (s *Schedule) due() bool {
	t := &s.trial
	if t.stage != lit || t.newest.start < s.rests || s.tooLong() {
		return false
	}
	return t.newest.start-t.marks.first() >= int64(s.litLength())
}

// tooLong reports whether iterations are too long to be compared in blocks.
func (s *Schedule) tooLong() bool { return darkIterations*s.trial.mean() > float64(darkMost) }

// darkLength returns the length of a dark block.
func (s *Schedule) darkLength() time.Duration {
	return min(max(darkLeast, time.Duration(darkIterations*s.trial.mean())), darkMost)
}

// litLength returns the length of the parts before and after a block: whole periods of frames, so
// that each has its share of them.
func (s *Schedule) litLength() time.Duration {
	period := s.Density().Period
	length := max(litLeast, time.Duration(litIterations*s.trial.mean()))
	return (length + period - 1) / period * period
}

// pause returns the time until the next block may begin.
func (s *Schedule) pause() time.Duration {
	wait := time.Duration(s.random.Int64N(int64(jitter)))
	if s.precise() {
		wait += rest
	}
	return wait
}
