package prism

import "math"

// plateau halves the learning rate when the loss has not improved for a while:
// PyTorch's ReduceLROnPlateau(min, factor 0.5, patience 10, threshold 1e-4
// relative) as PRISM uses it (spec/prism.md §5.2).
type plateau struct {
	best float64
	bad  int
}

const (
	plateauFactor    = 0.5
	plateauPatience  = 10
	plateauThreshold = 1e-4
)

func newPlateau() plateau { return plateau{best: math.Inf(1)} }

// step takes the loss at the end of a cycle and returns the learning rate of the
// next cycle.
func (p *plateau) step(loss, lr float64) float64 {
	if loss < p.best*(1-plateauThreshold) {
		p.best, p.bad = loss, 0
		return lr
	}
	p.bad++
	if p.bad <= plateauPatience {
		return lr
	}
	p.bad = 0
	if next := lr * plateauFactor; lr-next > 1e-8 { // PyTorch's eps
		return next
	}
	return lr
}
