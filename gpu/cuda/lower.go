package cuda

import (
	"fmt"

	"prismtop/sim/nn"
)

// The order in which the families of operators are asked to lower a step.

// ErrNoKernel is the error of a plan with an operator that this backend has no kernel for.
var ErrNoKernel = fmt.Errorf("the GPU's backend has no kernel for the operator")

// lower adds the launches of the current step.
func (b *builder) lower() error {
	if b.done[b.index] {
		return nil
	}
	if err := b.settle(); err != nil {
		return err
	}
	if scalar, err := b.scalarStep(); scalar {
		return err
	}
	for _, f := range []family{&convolutions{b}, &normalisations{b}, &elementwise{b}, &layouts{b}, &measurements{b},
		&losses{b}, &ptychography{b}, &volumes{b}} {
		if known, err := f.lower(); known {
			return err
		}
	}
	switch op := b.step.Op.(type) {
	case nn.Unscale:
		return b.unscaleGradient()
	case nn.Adam:
		return b.adam(op)
	}
	return ErrNoKernel
}

// family lowers the operators of a kind; known is false for a step of another.
type family interface {
	lower() (known bool, err error)
}
