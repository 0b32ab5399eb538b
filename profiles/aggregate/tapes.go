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
