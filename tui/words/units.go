package words

import (
	"fmt"

	"prismtop/profiles"
)

// This file is how units of work are told.

// UnitEnds counts how units ended that had a threshold to reach.
type UnitEnds struct{ Converged, failed int }

// CountEnds counts the results of a run.
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

// String is empty where no unit had a threshold.
func (n UnitEnds) String() string {
	if n == (UnitEnds{}) {
		return ""
	}
	return fmt.Sprintf("%d converged · %d at limit", n.Converged, n.failed)
}
