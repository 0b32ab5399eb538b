package cuda

import (
	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Convolutions between one pixel and a whole image: their product, and the outer product that Adam takes at once.

// convDenseP is ConvDenseP of conv_dense.cu.
type convDenseP struct {
	X, W, Bias, Y                           driver.Pointer
	Rows, Columns, Taps                     int32
	Type, OutType, BiasType, ReLU, Products int32
}

// dense adds the launch of a convolution between one pixel and an image as large as the
// kernel, if there is a kernel for it.
func (b *convolutions) dense(s convSum, c *convolution) (done bool, err error) {
	g := &c.geometry
	p := convDenseP{X: c.x.at, W: c.w.at, Y: c.y.at, Rows: g.Small, Columns: g.Large * g.taps(), Taps: g.taps(),
		Type: c.x.kind(), OutType: c.y.kind(), ReLU: flag(c.relu), Products: int32(c.products)}
	if !g.single() || c.x.dtype != c.w.dtype || p.Columns%8 != 0 || p.Rows > 65535 {
		return false, nil
	}
	if c.bias != nil {
		p.Bias, p.BiasType = c.bias.at, c.bias.kind()
	}
	size := storage(c.x)
	if c.products == nn.BF16x3 {
		size += "_split"
	}
	switch s {
	case gathers:
		return true, b.launch("conv_column"+size, driver.X(int(p.Rows)), driver.X(256), 0, parameter(&p))
	case scatters:
		return true, b.launch("conv_row"+size, driver.X(int(p.Columns+31)/32), driver.X(512), 0, parameter(&p))
	}
	return true, b.launch("conv_outer", driver.XY(int(p.Columns+1023)/1024, int(p.Rows)), driver.X(256), 0,
		parameter(&p))
}

// convOuterAdamP is ConvOuterAdamP of conv_dense.cu.
type convOuterAdamP struct {
	Adam                                     adamP
	X, GY, Copy, Value, Moment, Second, Most driver.Pointer
	GX                                       driver.Pointer
	Columns, Type, CopyType, OutType         int32
}

// outerAdam adds the launch that updates weights of a single geometry with their gradient, the product of x and gy,
// after computing the gradient gx of the image from the weights w, if it can.
func (b *convolutions) outerAdam(op nn.Adam, c *convolution, x, gy, w, gx operand, scalars, state []operand) (done bool,
	err error) {
	if err := mustBe(tensor.Float32, scalars...); err != nil {
		return false, err
	}
	g := &c.geometry
	p := convOuterAdamP{Adam: adamParameter(op, scalars[0].at, scalars[1].at, 0), X: x.at, GY: gy.at,
		Value: state[0].at, Moment: state[1].at, Second: state[2].at, GX: gx.at,
		Columns: g.Large * g.taps(), Type: x.kind(), CopyType: w.kind(), OutType: gx.kind()}
	if x.dtype != gy.dtype || p.Columns%4 != 0 || c.products != nn.Exact {
		return false, nil
	}
	if w.at != state[0].at {
		p.Copy = w.at
	}
	kernel := "conv_outer_adam"
	if op.AMSGrad {
		kernel, p.Most = "conv_outer_adam_most", state[3].at
	}
	return true, b.launch(kernel, driver.X(int(g.Small)), driver.X(256), 0, parameter(&p))
}
