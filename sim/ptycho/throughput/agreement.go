package throughput

import (
	"fmt"
	"math"

	"prismtop/sim/ptycho/trial"
)

// allowed bounds the difference of outputs at two batch sizes, relative to the largest output: what
// rounding in another order may do in float32 or the precision of the sweep.
func (s *Sweep) allowed() float64 { return max(leastAllowed, s.o.Job.Precision().Tolerance()) }

const leastAllowed = 1e-4

// agreement compares the outputs of all runs.
type agreement struct {
	reference *trial.Run
	batch     int // of the reference
	runs      int
	identical bool
	largest   float64 // difference, relative to the largest output
}

// add compares a run with the first one. An error says that they differ by more than is allowed.
func (a *agreement) add(batch int, r trial.Run, allowed float64) error {
	a.runs++
	if a.reference == nil {
		a.reference, a.batch, a.identical = &r, batch, true
		return nil
	}
	if r.Checksum == a.reference.Checksum {
		return nil
	}
	a.identical = false
	most, difference := 0.0, 0.0
	for i, v := range a.reference.Samples {
		most, difference = math.Max(most, math.Abs(float64(v))),
			math.Max(difference, math.Abs(float64(v)-float64(r.Samples[i])))
	}
	if difference > 0 || math.IsNaN(difference) {
		difference /= most
	}
	if !(difference <= math.MaxFloat64) { // which JSON can hold
		difference = math.MaxFloat64
	}
	a.largest = max(a.largest, difference)
	if !(difference <= allowed) {
		return fmt.Errorf("the outputs at batch size %d differ from those at %d by %.2g of the largest: they must not "+
			"depend on the batch size", batch, a.batch, difference)
	}
	return nil
}
