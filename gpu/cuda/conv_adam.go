package cuda

import (
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// convAdam lowers a ConvAdam: the gradient of the weights goes to private memory, from which the updates at the end of
// the segment take it.
func (b *convolutions) convAdam(op nn.ConvAdam) error {
	x, y := b.ins(), b.outs()
	state := 3
	if op.Update.AMSGrad {
		state++
	}
	results := state
	if op.GradInput {
		results++
	}
	if len(x) < 4+state || len(y) != results {
		return operandError("%d operands and %d results", len(x), len(y))
	}
	if op.Update.Scaler || op.Update.Decay != 0 {
		return operandError("a fused update under a gradient scaler or with weight decay")
	}
	variables := x[4 : 4+state]
	for i, v := range variables {
		if !b.inPlace(i, 4+i) || v.dtype != tensor.Float32 || !v.shape.Equal(variables[0].shape) {
			return operandError("result %d is not operand %d in place", i, 4+i)
		}
	}
	c, err := weightGradient(x[0], x[1], variables[0], op.Stride, op.Pad, op.Transposed)
	if err != nil {
		return err
	}
	c.products = b.step.Products
	if !op.GradInput && len(x) != 4+state {
		return operandError("%d operands", len(x))
	}
	if op.GradInput {
		w, err := b.imageWeights(op, &c, x, y[state])
		if err != nil {
			return err
		}
		if done, err := b.outerAdam(op.Update, &c, x[0], x[1], w, y[state], x[2:4], variables); done || err != nil {
			return err
		}
		b.detach()
		g := convolution{geometry: c.geometry, x: x[1], w: w, y: y[state], products: c.products}
		if err := b.gather(&g); err != nil {
			return err
		}
	}
	b.detach()
	c.y.at = b.keep(4 * c.geometry.weights())
	if err := b.update(op.Update, c.y.at, x[2:4], variables); err != nil {
		return err
	}
	return b.weights(&c, true)
}

// imageWeights returns the weights from which a ConvAdam computes the gradient gx of its image: those before their
// update or their copy in bfloat16.
func (b *convolutions) imageWeights(op nn.ConvAdam, c *convolution, x []operand, gx operand) (w operand, err error) {
	if !op.Outer(x[0].shape) || !c.geometry.single() {
		return w, operandError("the gradient of the image is not computed with that of weights %v of images %v",
			c.y.shape, x[0].shape)
	}
	state := len(b.step.Out) - 1
	w = c.y
	switch len(x) {
	case 4 + state:
	case 5 + state:
		if w = x[4+state]; w.dtype != tensor.BFloat16 {
			return w, operandError("copied weights of %v", w.dtype)
		}
	default:
		return w, operandError("%d operands", len(x))
	}
	if !gx.shape.Equal(x[0].shape) || !w.shape.Equal(c.y.shape) || !gx.real() {
		return w, operandError("gradient %v of images %v and weights %v", gx.shape, x[0].shape, w.shape)
	}
	return w, nil
}
