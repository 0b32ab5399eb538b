package aggregate

import (
	"time"

	"prismtop/profiles"
)

// Tapes is a Tape that hands everything to several others.
type Tapes []Tape

// Event records an event on every tape.
func (t Tapes) Event(e *profiles.Event) {
	for _, each := range t {
		each.Event(e)
	}
}

// Tick records a tick on every tape.
func (t Tapes) Tick(now time.Time, s *profiles.Snapshot) {
	for _, each := range t {
		each.Tick(now, s)
	}
}

// Drained records on every tape that events were consumed without a tick.
func (t Tapes) Drained(now time.Time) {
	for _, each := range t {
		each.Drained(now)
	}
}

// Keeper is a Tape that keeps what it records in memory, within a bound.
type Keeper interface {
	// Kept returns how many bytes that takes now.
	Kept() int64
}

// Kept sums what the tapes keep.
func (t Tapes) Kept() (bytes int64) {
	for _, each := range t {
		if k, ok := each.(Keeper); ok {
			bytes += k.Kept()
		}
	}
	return bytes
}
