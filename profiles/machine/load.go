package machine

import "cmp"

// Processor time, and the share of it that other programs took.

// Quiet is the share of the processors, 0 to 1, that other programs may use while
// comparable times are measured.
const Quiet = 0.06

// Noticeable is the difference between two shares of the processors, 0 to 1, below which
// it may be due to the resolution of the system's ticks.
const Noticeable = 0.02

// Load is processor time in seconds, summed over all processors since each began to
// count.
type Load struct {
	Busy   float64 // of every program on the machine, and of its host
	Own    float64 // of this program
	Passed float64 // there was

	Reason string // why it cannot be read; empty if it was
}

// Since returns the load between two readings.
func (l Load) Since(before Load) Load {
	if reason := cmp.Or(before.Reason, l.Reason); reason != "" {
		return Load{Reason: reason}
	}
	return Load{Busy: l.Busy - before.Busy, Own: l.Own - before.Own, Passed: l.Passed - before.Passed}
}

// Add returns the sum of the loads of two periods.
func (l *Load) Add(m Load) {
	l.Busy += m.Busy
	l.Own += m.Own
	l.Passed += m.Passed
}

// Foreign returns the share of the processors' time that was neither idle nor
// this program's.
func (l Load) Foreign() float64 {
	if l.Passed <= 0 {
		return 0
	}
	return min(max(0, l.Busy-l.Own)/l.Passed, 1)
}
