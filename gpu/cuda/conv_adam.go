package cuda

import "prismtop/sim/nn"

// convAdam lowers a ConvAdam: the gradient of the weights goes to private memory, from which the updates at the end of
// the segment take it.
func (b *convolutions) convAdam(op nn.ConvAdam) error {
	x, y := b.ins(), b.outs()
	state := len(y)
	if op.GradInput {
		state--
	}
	variables := x[4 : 4+state]
	c, err := weightGradient(x[0], x[1], variables[0], op.Stride, op.Pad, op.Transposed)
	if err != nil {
		return err
	}
	c.products = b.step.Products
	if op.GradInput {
		w := c.y // before the update, or their copy in bfloat16
		if len(x) > 4+state {
			w = x[4+state]
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
