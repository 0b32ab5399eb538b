package words

import (
	"fmt"
	"strings"

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

// Kinds lists the kinds of a schema's iterations in parentheses after a space; "" for one kind.
func Kinds(s *profiles.Schema) string {
	if len(s.Kinds) < 2 {
		return ""
	}
	names := make([]string, len(s.Kinds))
	for i, k := range s.Kinds {
		names[i] = k.Name
	}
	return " (" + strings.Join(names, ", ") + ")"
}
