package ptycho

import (
	"fmt"
	"os"
	"path/filepath"
)

// TrainedPath returns the file of the weights that training leaves for a network:
// prismtop/ptycho/weights-N64-s2-g1.npz in $XDG_STATE_HOME, which is ~/.local/state
// unless set. The name of a network whose heads do not draw the border ends in -inner.
func TrainedPath(c Config) (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // as the standard wants relative ones to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no folder for trained weights: %w; set XDG_STATE_HOME", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	name := fmt.Sprintf("weights-N%d-s%d-g%d", c.Size, c.FiltersScale, c.GridSize)
	if !c.ProbeBig {
		name += "-inner"
	}
	return filepath.Join(state, "prismtop", "ptycho", name+".npz"), nil
}
