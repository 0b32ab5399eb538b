package tui

import (
	"fmt"

	"prismtop/profiles"
)

// This file is how units of work are told.

// sampleEnds counts how samples ended that had a threshold to reach.
type sampleEnds struct{ converged, failed int }

func countEnds(s *profiles.Snapshot) (n sampleEnds) {
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

// String is empty where no sample had a threshold.
func (n sampleEnds) String() string {
	if n == (sampleEnds{}) {
		return ""
	}
	return fmt.Sprintf("%d converged · %d at limit", n.converged, n.failed)
}
