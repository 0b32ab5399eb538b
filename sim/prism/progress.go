package prism

import (
	"time"

	"prismtop/profiles"
)

// progress is how far the algorithm is, and Adam's step size there.
type progress struct {
	initial  bool    // the initialisation is under way
	sample   int     // counted over all passes; −1 during the initialisation
	inSample int     // iterations of the sample so far
	lr       float64 // Adam's step size, as set by the scheduler
	plateau  plateau
	began    time.Time // of the sample
}

// restart begins the schedule of a learning rate.
func (p *progress) restart(rate float64) { p.lr, p.plateau = rate, newPlateau() }

// kind returns the kind of an iteration of a sample.
func (p *progress) kind(sample int) profiles.Kind {
	switch {
	case p.initial:
		return KindInitialisation
	case sample == 0:
		return KindFirstSample
	}
	return KindLaterSample
}

// programWith returns the kind of plan of the next iteration, with a number of samples in the accumulated mask.
func (p *progress) programWith(samples int) programKind {
	switch {
	case p.initial:
		return initialisationProgram
	case samples == 0:
		return firstSampleProgram
	}
	return progressiveProgram
}
