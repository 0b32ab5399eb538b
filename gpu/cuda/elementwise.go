package cuda

import (
	"math"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Operators that compute each element from one or a few: fills, functions and their gradients, factors and sums.

// elementwise lowers what computes each element from one or a few.
type elementwise struct{ *builder }

func (b *elementwise) lower() (known bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.Activation:
		return true, b.activation(op)
	case nn.ActivationGrad:
		return true, b.activationGrad(op)
	case nn.Swish:
		return true, b.unary(unarySwish, 0)
	case nn.SwishGrad:
		return true, b.slopes(unarySwish)
	case nn.Softplus:
		return true, b.unary(unarySoftplus, 0)
	case nn.SoftplusGrad:
		return true, b.slopes(unarySoftplus)
	case nn.Scale:
		return true, b.scale(op)
	case nn.Add:
		return true, b.add()
	case nn.Fill:
		return true, b.fill(op)
	}
	return false, nil
}

// fillP is FillP of elementwise.cu.
type fillP struct {
	Y     driver.Pointer
	N     int64
	Type  int32
	Value float32
}

func (b *elementwise) fill(op nn.Fill) error {
	y := b.outs()
	p := fillP{y[0].at, y[0].n(), y[0].kind(), op.Value}
	return b.over("fill", p.N, parameter(&p))
}

// unaryP is UnaryP of elementwise.cu.
type unaryP struct {
	X, Y             driver.Pointer
	N                int64
	Op, XType, YType int32
	Factor           float32
}

// Functions of elementwise.cu after those of nn.ActivationKind.
const (
	unarySwish = int32(nn.Tanh) + 1 + iota
	unaryScale
	unaryCopy
	unarySoftplus
)

// unary applies a function to each element.
func (b *elementwise) unary(op int32, factor float32) error {
	x, y := b.ins(), b.outs()
	p := unaryP{x[0].at, y[0].at, x[0].n(), op, x[0].kind(), y[0].kind(), factor}
	return b.over("unary", (p.N+3)/4, parameter(&p))
}

func (b *elementwise) activation(op nn.Activation) error {
	return b.unary(int32(op.Kind), 0)
}

// scale multiplies real values, or both parts of complex ones.
func (b *elementwise) scale(op nn.Scale) error {
	x, y := b.ins(), b.outs()
	if x[0].real() {
		return b.unary(unaryScale, op.Factor)
	}
	p := unaryP{x[0].at, y[0].at, 2 * x[0].n(), unaryScale, int32(tensor.Float32), int32(tensor.Float32), op.Factor}
	return b.over("unary", (p.N+3)/4, parameter(&p))
}

// slopeP is SlopeP of elementwise.cu.
type slopeP struct {
	Y, GY, GX                 driver.Pointer
	N                         int64
	Op, YType, GYType, GXType int32
}

// slopes computes the gradient of a function from its result or its operand, in[0].
func (b *elementwise) slopes(op int32) error {
	in, out := b.ins(), b.outs()
	p := slopeP{in[0].at, in[1].at, out[0].at, in[0].n(), op, in[0].kind(), in[1].kind(), out[0].kind()}
	return b.over("slopes", p.N, parameter(&p))
}

func (b *elementwise) activationGrad(op nn.ActivationGrad) error {
	return b.slopes(int32(op.Kind))
}

// sumTerms is the number of operands that one launch adds.
const sumTerms = 32

// sumP is SumP of elementwise.cu.
type sumP struct {
	X            [sumTerms]driver.Pointer
	Y            driver.Pointer
	N            int64
	Types        [sumTerms]int32
	Count, YType int32
}

// add sums real values, or both parts of complex ones.
func (b *elementwise) add() error {
	x, y := b.ins(), b.outs()
	parts := int64(1)
	if !y[0].real() {
		parts = 2
	}
	if len(x) > sumTerms && y[0].dtype.Size() == 2 {
		return operandError("a sum of %d operands of 16 bits", len(x)) // its parts would be rounded
	}
	kind := func(o operand) int32 {
		if !o.real() {
			return int32(tensor.Float32)
		}
		return o.kind()
	}
	p := sumP{Y: y[0].at, N: parts * y[0].n(), YType: kind(y[0])}
	for i, o := range x {
		if p.Count == sumTerms {
			if err := b.over("sum", p.N, parameter(&p)); err != nil {
				return err
			}
			p.X[0], p.Types[0], p.Count = p.Y, p.YType, 1
		}
		p.X[p.Count], p.Types[p.Count] = o.at, kind(x[i])
		p.Count++
	}
	return b.over("sum", p.N, parameter(&p))
}

// indexed reports whether a kernel can count the elements in 32 bits.
func (o operand) indexed() bool { return o.n() <= math.MaxInt32/4 }
