package words

import (
	"fmt"

	"prismtop/profiles"
)

// This file describes units of work.

// UnitEnds counts the outcomes of units with a threshold.
type UnitEnds struct{ Converged, failed int }

// CountEnds counts the outcomes of a run's units.
func CountEnds(s *profiles.Snapshot) (n UnitEnds) {
	for i := range s.Results {
		switch r := &s.Results[i]; {
		case r.Converged:
			n.Converged++
		case r.Failed():
			n.failed++
		}
	}
	return n
}

// String returns "" if no unit had a threshold.
func (n UnitEnds) String() string {
	if n == (UnitEnds{}) {
		return ""
	}
	return fmt.Sprintf("%d converged · %d at limit", n.Converged, n.failed)
}
