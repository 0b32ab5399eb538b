package tui

import (
	"fmt"

	"prismtop/profiles"
)

// This file is how the screen tells that other programs compute on the machine.

// othersText says in the header what other programs take of the processors, while that
// is considerable; "" elsewhere.
func othersText(s *profiles.Snapshot, w int) string {
	if !s.Load.Considerable || ended(s.State) {
		return ""
	}
	share := fmt.Sprintf(" %2.0f %%", min(100*s.Load.Foreign, 99))
	return fittingOrLast(w, "other programs"+share, "others"+share)
}
