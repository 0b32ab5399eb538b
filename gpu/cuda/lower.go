package cuda

import (
	"fmt"

	"prismtop/sim/nn"
)

// ErrNoKernel is the error of a plan with an operator that this backend has no kernel for.
var ErrNoKernel = fmt.Errorf("the GPU's backend has no kernel for the operator")

// lower adds the launches of the current step.
func (b *builder) lower() error {
	if scalar, err := b.scalarStep(); scalar {
		return err
	}
	switch op := b.step.Op.(type) {
	case nn.Fill:
		return b.fill(op)
	}
	return ErrNoKernel
}
