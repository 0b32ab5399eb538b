package imaging

import (
	"testing"

	"prismtop/profiles"
)

// The scale of the difference widens at once but narrows late, so that it does not oscillate.
func TestTheScaleOfTheDifferenceStandsStill(t *testing.T) {
	truth := &profiles.Picture{Width: 1, Height: 1, Pixels: []float32{0}}
	var a amplitudes
	for _, step := range []struct{ largest, want float32 }{
		{0.9, 1}, {0.45, 1}, {0.55, 1}, {0.38, 0.5}, {0.45, 0.5}, {0.51, 1}, {0.39, 0.5}, {0.021, 0.05}, {3, 5}, {0, 1e-12},
	} {
		a.measure(&profiles.Picture{Width: 1, Height: 1, Pixels: []float32{step.largest}}, truth, 0)
		if a.difference != step.want {
			t.Errorf("after %g the scale ends at %g, want %g", step.largest, a.difference, step.want)
		}
	}
}
