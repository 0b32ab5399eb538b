package training

import "math"

// plateau watches the test loss over the epochs (spec/ptycho-cyto.md §A1.5): the schedule
// "plateau" halves the learning rate after two epochs without a lower one, down to 1e-4,
// and a training may end after some.
type plateau struct {
	best  float64
	bad   int // epochs without a lower loss since the learning rate was changed
	stale int // since the best
}

const (
	plateauFactor   = 0.5
	plateauPatience = 2
	leastRate       = 1e-4
)

func newPlateau() plateau { return plateau{best: math.Inf(1)} }

// step takes the test loss of an epoch and returns the learning rate of the next.
func (p *plateau) step(loss, lr float64, scheduler string) float64 {
	if loss < p.best {
		p.best, p.bad, p.stale = loss, 0, 0
		return lr
	}
	p.bad++
	p.stale++
	if scheduler != "plateau" || p.bad < plateauPatience || lr <= leastRate {
		return lr
	}
	p.bad = 0
	return max(lr*plateauFactor, leastRate)
}
