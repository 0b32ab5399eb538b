package ptycho

import (
	"fmt"
	"path/filepath"

	"prismtop/sim/weights"
)

// TrainedPath returns the file of the weights that training leaves for a network:
// prismtop/ptycho/weights-N64-s2-g1.npz in $XDG_STATE_HOME, which is ~/.local/state
// unless set. The name of a network whose heads do not draw the border has -inner
// after it, and one with another activation than the sigmoid, or with ptycho_torch's heads, that name.
func TrainedPath(c Config) (string, error) {
	folder, err := weights.Folder("ptycho")
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("weights-N%d-s%d-g%d", c.Size, c.FiltersScale, c.GridSize)
	if !c.ProbeBig {
		name += "-inner"
	}
	if c.AmpActivation != "" && c.AmpActivation != AmpActivations()[0] {
		name += "-" + c.AmpActivation
	}
	if c.Heads != "" && c.Heads != HeadKinds()[0] {
		name += "-" + c.Heads
	}
	return filepath.Join(folder, name+".npz"), nil
}
