package nn

import (
	"errors"
	"fmt"

	"prismtop/sim/tensor"
)

func (o Conv2D) infer(in []spec) ([]result, error) {
	if err := convolution(in, o.Stride, o.Pad, 1, 0); err != nil {
		return nil, err
	}
	x, w := in[0].shape, in[1].shape
	if o.Up {
		x = tensor.Shape{x[0], x[1], 2 * x[2], 2 * x[3]}
	}
	h := (x[2]+2*o.Pad-w[2])/o.Stride + 1
	v := (x[3]+2*o.Pad-w[3])/o.Stride + 1
	if x[2]+2*o.Pad < w[2] || x[3]+2*o.Pad < w[3] {
		return nil, fmt.Errorf("kernel %v is larger than the padded image %v", w, x)
	}
	y := one(tensor.Shape{x[0], w[0], h, v}, in[0].dtype)
	if o.Pool {
		return MaxPool{}.infer([]spec{y[0].spec})
	}
	return y, nil
}

// name returns the operator's name with what is fused into it.
func (o Conv2D) name() string {
	name := "conv" + joined(o.ReLU)
	if o.Up {
		name = "upsample+" + name
	}
	if o.Pool {
		name += "+max-pool"
	}
	return name
}

func (Conv2D) precision() precision { return reduced }

func (o Conv2D) backward(b *backward, t *taped, gy BufferID) error {
	if o.Up || o.Pool {
		return errors.New("has no gradient with an upsample or a max-pool fused into it")
	}
	if o.ReLU {
		gy = b.rectified(t, gy)
	}
	b.convolution(t, gy, Conv2DGradInput{o.Stride, o.Pad}, ConvAdam{Stride: o.Stride, Pad: o.Pad})
	return nil
}

func (o ConvTranspose2D) infer(in []spec) ([]result, error) {
	if err := convolution(in, o.Stride, o.Pad, 0, 1); err != nil {
		return nil, err
	}
	if o.OutputPad < 0 || o.OutputPad >= o.Stride {
		return nil, fmt.Errorf("output padding %d is not below the stride %d", o.OutputPad, o.Stride)
	}
	x, w := in[0].shape, in[1].shape
	h := (x[2]-1)*o.Stride - 2*o.Pad + w[2] + o.OutputPad
	v := (x[3]-1)*o.Stride - 2*o.Pad + w[3] + o.OutputPad
	if h < 1 || v < 1 {
		return nil, fmt.Errorf("padding %d leaves nothing of %v", o.Pad, x)
	}
	return one(tensor.Shape{x[0], w[1], h, v}, in[0].dtype), nil
}

func (ConvTranspose2D) precision() precision { return reduced }

func (o ConvTranspose2D) backward(b *backward, t *taped, gy BufferID) error {
	if o.ReLU {
		gy = b.rectified(t, gy)
	}
	b.convolution(t, gy, ConvTranspose2DGradInput{o.Stride, o.Pad},
		ConvAdam{Stride: o.Stride, Pad: o.Pad, Transposed: true})
	return nil
}

// rectified emits the gradient before the ReLU of a convolution.
func (b *backward) rectified(t *taped, gy BufferID) BufferID {
	return b.emit(t, ActivationGrad{Kind: ReLU}, []BufferID{t.out[0], gy}, b.like(t.out[0]))
}

// convolution checks the operands of a convolution whose weights have the input
// channels on axis inAxis and the output channels on axis outAxis.
func convolution(in []spec, stride, pad, inAxis, outAxis int) error {
	if err := operands(in, 2, 3); err != nil {
		return err
	}
	if err := image(in[0]); err != nil {
		return err
	}
	x, w := in[0].shape, in[1].shape
	switch {
	case len(w) != 4:
		return fmt.Errorf("needs weights of four axes, not %v", w)
	case w[inAxis] != x[1]:
		return fmt.Errorf("weights %v take %d channels, the image %v has %d", w, w[inAxis], x, x[1])
	case len(in) == 3 && !in[2].shape.Equal(tensor.Shape{w[outAxis]}):
		return fmt.Errorf("bias has shape %v, not %d", in[2].shape, w[outAxis])
	case stride < 1 || pad < 0:
		return fmt.Errorf("stride %d, padding %d", stride, pad)
	}
	return nil
}

// convolution emits the gradients of a convolution's image, weights and bias.
// The weight gradient is float32 even if the weights are not. Weights updated by a fused
// step are updated only after the image's gradient has read them.
func (b *backward) convolution(t *taped, gy BufferID, gradInput Op, o ConvAdam) {
	x, w := t.in[0], t.in[1]
	gradWeight := func() {
		b.give(w, b.emit(t, o.gradient(), []BufferID{x, gy}, b.float32Like(w)))
		b.factors(t, gy, o)
	}
	if b.wants(w) && b.fused == nil {
		gradWeight()
	}
	if len(t.in) == 3 && b.wants(t.in[2]) {
		b.give(t.in[2], b.emit(t, BiasGrad{}, []BufferID{gy}, b.float32Like(t.in[2])))
	}
	if b.gradInputAtOnce(t, gy, o) {
		return
	}
	if b.wants(x) {
		b.give(x, b.emit(t, gradInput, []BufferID{gy, w}, b.like(x)))
	}
	if b.wants(w) && b.fused != nil && !b.convAdam(t, gy, o) {
		gradWeight()
	}
}

// flops counts the products of the definition: with Up, also those of equal pixels, whose
// weights can be added first.
func (o Conv2D) flops(in, out []spec) int64 {
	all := kernelFLOPs(out[0], in[1]) + biasFLOPs(in, out)
	if o.Pool {
		all += out[0].elements()
		all *= 4
	}
	return all
}

func (ConvTranspose2D) flops(in, out []spec) int64 {
	return kernelFLOPs(in[0], in[1]) + biasFLOPs(in, out)
}
func (Conv2DGradInput) flops(in, _ []spec) int64             { return kernelFLOPs(in[0], in[1]) }
func (Conv2DGradWeight) flops(in, out []spec) int64          { return kernelFLOPs(in[1], out[0]) }
func (ConvTranspose2DGradInput) flops(in, out []spec) int64  { return kernelFLOPs(out[0], in[1]) }
func (ConvTranspose2DGradWeight) flops(in, out []spec) int64 { return kernelFLOPs(in[0], out[0]) }
func (BiasGrad) flops(in, _ []spec) int64                    { return in[0].elements() }

// kernelFLOPs returns the cost of using every weight once per pixel of the
// smaller side: the output of a convolution, the input of a transposed one.
func kernelFLOPs(side, weight spec) int64 {
	h, w := side.shape.Plane()
	return 2 * int64(side.shape[0]) * int64(h) * int64(w) * weight.elements()
}

func biasFLOPs(in, out []spec) int64 {
	if len(in) < 3 {
		return 0
	}
	return out[0].elements()
}
