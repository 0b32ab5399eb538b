package cuda

import (
	"prismtop/gpu/driver"
	"prismtop/sim/nn"
)

// fillP is FillP of elementwise.cu.
type fillP struct {
	Y     driver.Pointer
	N     int64
	Type  int32
	Value float32
}

func (b *builder) fill(op nn.Fill) error {
	_, y, err := b.operands(0, 1)
	if err != nil {
		return err
	}
	if !y[0].real() {
		return operandError("complex values")
	}
	p := fillP{y[0].at, y[0].n(), y[0].kind(), op.Value}
	return b.over("fill", p.N, parameter(&p))
}
