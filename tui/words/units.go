package words

import (
	"fmt"

	"prismtop/profiles"
)

// This file describes units of work.

// UnitEnds counts the outcomes of units with a threshold.
type UnitEnds struct{ Converged, AtLimit int }

// CountEnds counts the outcomes of a run's units.
func CountEnds(s *profiles.Snapshot) UnitEnds {
	ended := s.Ended()
	return UnitEnds{ended.Converged, len(ended.Failed)}
}

// String returns "" if no unit had a threshold.
func (n UnitEnds) String() string {
	if n == (UnitEnds{}) {
		return ""
	}
	return fmt.Sprintf("%d converged · %d at limit", n.Converged, n.AtLimit)
}
