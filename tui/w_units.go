package tui

import (
	"fmt"

	"prismtop/profiles"
)

// This file is how units of work are told.

// unitEnds counts how units ended that had a threshold to reach.
type unitEnds struct{ converged, failed int }

func countEnds(s *profiles.Snapshot) (n unitEnds) {
	for i := range s.Results {
		switch r := &s.Results[i]; {
		case r.Converged:
			n.converged++
		case r.Failed():
			n.failed++
		}
	}
	return n
}

// String is empty where no unit had a threshold.
func (n unitEnds) String() string {
	if n == (unitEnds{}) {
		return ""
	}
	return fmt.Sprintf("%d converged · %d at limit", n.converged, n.failed)
}
