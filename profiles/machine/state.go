package machine

import (
	"fmt"
	"os"
	"path/filepath"
)

// StateFolder returns the folder of what this program keeps for its user: prismtop in $XDG_STATE_HOME, which is
// ~/.local/state unless set. The error says what cannot be kept.
func StateFolder(what string) (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // as the standard wants relative ones to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no folder for %s: %w; set XDG_STATE_HOME", what, err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "prismtop"), nil
}
