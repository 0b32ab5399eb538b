package tui

import (
	"fmt"

	"prismtop/profiles"
	"prismtop/tui/theme"
)

// This file is how the screen tells that other programs compute on the machine.

// othersPieces say in the header what other programs take of the processors, while
// that is considerable, always as wide.
func othersPieces(s *profiles.Snapshot) []piece {
	if !s.Load.Considerable || ended(s.State) {
		return nil
	}
	return []piece{{fmt.Sprintf("others %2.0f %%  ", min(100*s.Load.Foreign, 99)), theme.Warn, 1}}
}

// othersTook is a share of the processors in words.
func othersTook(share float64) string {
	return fmt.Sprintf("others took %.0f %% of the processors", 100*share)
}
