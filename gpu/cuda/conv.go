package cuda

import (
	"errors"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Convolutions as three sums, the geometry of these, the kernels for any geometry, and the gradient of a bias.

// convolutions lowers the convolutions, their gradients, and those whose weight gradient Adam takes at once.
type convolutions struct{ *builder }

func (b *convolutions) lower() (known bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.Conv2D:
		return true, b.conv2D(op)
	case nn.Conv2DGradInput:
		return true, b.scatterStep(op.Stride, op.Pad, false)
	case nn.Conv2DGradWeight:
		return true, b.weightStep(op.Stride, op.Pad, false)
	case nn.ConvTranspose2D:
		return true, b.scatterStep(op.Stride, op.Pad, op.ReLU)
	case nn.ConvTranspose2DGradInput:
		return true, b.gatherStep(op.Stride, op.Pad, false)
	case nn.ConvTranspose2DGradWeight:
		return true, b.weightStep(op.Stride, op.Pad, true)
	case nn.BiasGrad:
		return true, b.biasGrad()
	case nn.ConvAdam:
		return true, b.convAdam(op)
	case nn.GradientShare:
		return true, nil // no work
	}
	return false, nil
}

// The convolutions and their gradients are three sums. Let the small grid be a Conv2D's output or a ConvTranspose2D's
// input, the large grid the other one. The weights are w[s][l][ky][kx], with s a channel of the small grid and l one of
// the large, and every product is
//
//	small[s, i] · large[l, stride·i − pad + k] · w[s][l][k]
//
// gather computes small from large and w, scatter large from small and w, weights w from small and large.

// convGeometry is ConvG of conv.h: both grids and the kernel between them.
type convGeometry struct {
	Images, Small, Large                int32 // images; channels of the grids
	HS, WS, HL, WL, KH, KW, Stride, Pad int32
}

// geometryOf returns the geometry of the small and large images and of the weights.
func geometryOf(small, large, w tensor.Shape, stride, pad int) (convGeometry, error) {
	for _, s := range []tensor.Shape{small, large, w} {
		if s.Elements() >= 1<<31 {
			return convGeometry{}, operandError("%v numbers", s)
		}
	}
	return convGeometry{int32(small[0]), int32(small[1]), int32(large[1]), int32(small[2]), int32(small[3]),
		int32(large[2]), int32(large[3]), int32(w[2]), int32(w[3]), int32(stride), int32(pad)}, nil
}

// taps is the number of weights between two channels.
func (g *convGeometry) taps() int32 { return g.KH * g.KW }

// pixels is the number of pixels of a channel of the small grid in all images.
func (g *convGeometry) pixels() int64 { return int64(g.Images) * int64(g.HS) * int64(g.WS) }

// weights is the number of weights.
func (g *convGeometry) weights() int64 {
	return int64(g.Small) * int64(g.Large) * int64(g.taps())
}

// single reports whether the small grid is one pixel and the kernel covers the large grid exactly: a product of a
// vector and a matrix (PRISM's first layer, 1×1 → 4×4).
func (g *convGeometry) single() bool {
	return g.Images == 1 && g.HS == 1 && g.WS == 1 && g.Pad == 0 && g.HL == g.KH && g.WL == g.KW
}

// convolution is a gather, a scatter or a sum of weights: x and w are the operands that are
// multiplied, the small and the large grid for weights.
type convolution struct {
	geometry convGeometry
	x, w     operand
	bias     *operand
	y        operand
	relu     bool
	products nn.Products
	up, pool bool // gather: x enlarged, y reduced by a factor of two
}

// convolution returns the operands of the current step, a gather described by op, or a
// scatter: x, w and perhaps a bias.
func (b *convolutions) convolution(op nn.Conv2D, scatter bool) (c convolution, err error) {
	x, y := b.ins(), b.outs()
	c = convolution{x: x[0], w: x[1], y: y[0], relu: op.ReLU, products: b.step.Products, up: op.Up, pool: op.Pool}
	small, large := y[0].shape, x[0].shape
	if scatter {
		small, large = x[0].shape, y[0].shape
	}
	if op.Pool {
		small = doubled(small)
	}
	if op.Up {
		large = doubled(large)
	}
	if len(x) == 3 {
		c.bias = &x[2]
	}
	c.geometry, err = geometryOf(small, large, x[1].shape, op.Stride, op.Pad)
	return c, err
}

// doubled is the shape of images of twice the sides.
func doubled(s tensor.Shape) tensor.Shape {
	return tensor.Shape{s[0], s[1], 2 * s[2], 2 * s[3]}
}

// conv2D lowers a Conv2D. What it enlarges and what it reduces has memory of its own where
// the convolution between has a fast kernel.
func (b *convolutions) conv2D(op nn.Conv2D) error {
	if !op.Up && !op.Pool {
		return b.gatherStep(op.Stride, op.Pad, op.ReLU)
	}
	c, err := b.convolution(op, false)
	if err != nil {
		return err
	}
	if kernels, _ := b.tileKernels(&c); kernels == "" || !c.geometry.tiled() {
		return b.anyConvolution("conv_gather_any", &c, 1)
	}
	resize := layouts{b.builder}
	if op.Up {
		large := b.doubledScratch(c.x)
		if err := resize.halves(halvesRepeat, c.x, large, large, c.x, operand{}); err != nil {
			return err
		}
		c.x, c.up = large, false
	}
	if !op.Pool {
		return b.gather(&c)
	}
	y := c.y
	c.y, c.pool = b.doubledScratch(y), false
	if err := b.gather(&c); err != nil {
		return err
	}
	return resize.halves(halvesPool, c.y, y, c.y, y, operand{})
}

// doubledScratch returns scratch memory for images of twice the sides of x.
func (b *convolutions) doubledScratch(x operand) operand {
	return operand{b.scratch(4 * x.bytes()), doubled(x.shape), x.dtype}
}

// gatherStep lowers the current step, a gather.
func (b *convolutions) gatherStep(stride, pad int, relu bool) error {
	c, err := b.convolution(nn.Conv2D{Stride: stride, Pad: pad, ReLU: relu}, false)
	if err != nil {
		return err
	}
	return b.gather(&c)
}

// scatterStep lowers the current step, a scatter.
func (b *convolutions) scatterStep(stride, pad int, relu bool) error {
	c, err := b.convolution(nn.Conv2D{Stride: stride, Pad: pad, ReLU: relu}, true)
	if err != nil {
		return err
	}
	return b.scatter(&c)
}

// weightStep lowers the current step, the gradient of the weights of a Conv2D, or of a ConvTranspose2D.
func (b *convolutions) weightStep(stride, pad int, transposed bool) error {
	x, y := b.ins(), b.outs()
	c, err := weightGradient(x[0], x[1], y[0], stride, pad, transposed)
	if err != nil {
		return err
	}
	c.products = b.step.Products
	b.detach()
	return b.weights(&c, false)
}

// weightGradient returns the sum that is the gradient y of the weights of a convolution of x whose result has the
// gradient gy.
func weightGradient(x, gy, y operand, stride, pad int, transposed bool) (c convolution, err error) {
	small, large := gy, x
	if transposed {
		small, large = x, gy
	}
	c = convolution{x: small, w: large, y: y}
	c.geometry, err = geometryOf(small.shape, large.shape, y.shape, stride, pad)
	return c, errors.Join(err, mustBe(tensor.Float32, y))
}

// convAnyP is ConvAnyP of conv.cu.
type convAnyP struct {
	X, W, Bias, Y                                            driver.Pointer
	Geometry                                                 convGeometry
	Count                                                    int32
	Type, WType, OutType, BiasType, Products, ReLU, Up, Pool int32
}

// anyConvolution launches the kernel that computes a sum of any geometry; elements of the
// result are computed by the given number of threads each.
func (b *convolutions) anyConvolution(kernel string, c *convolution, threads int64) error {
	p := convAnyP{X: c.x.at, W: c.w.at, Y: c.y.at, Count: int32(c.y.n()), Geometry: c.geometry,
		Type: c.x.kind(), WType: c.w.kind(), OutType: c.y.kind(), Products: int32(c.products)}
	if c.bias != nil {
		p.Bias, p.BiasType = c.bias.at, c.bias.kind()
	}
	p.ReLU, p.Up, p.Pool = flag(c.relu), flag(c.up), flag(c.pool)
	return b.over(kernel, c.y.n()*threads, parameter(&p))
}

// gather adds the launches of a gather.
func (b *convolutions) gather(c *convolution) error {
	return b.convolve(gathers, c, false, "conv_gather_any", 1)
}

// scatter adds the launches of a scatter.
func (b *convolutions) scatter(c *convolution) error {
	return b.convolve(scatters, c, false, "conv_scatter_any", 1)
}

// weights adds the launches of a sum of weights. If it is deferred, the result is there at the end of the segment.
func (b *convolutions) weights(c *convolution, deferred bool) error {
	return b.convolve(weighs, c, deferred, "conv_weights_any", 32)
}

// convolve adds the launches of the first kernels that take a convolution, or of the one that takes any.
func (b *convolutions) convolve(s convSum, c *convolution, deferred bool, kernel string, threads int64) error {
	if done, err := b.dense(s, c); done || err != nil {
		return err
	}
	if done, err := b.few(s, c, deferred); done || err != nil {
		return err
	}
	if done, err := b.byTiles(s, c, deferred); done || err != nil {
		return err
	}
	return b.anyConvolution(kernel, c, threads)
}

// convBiasGradP is ConvBiasGradP of conv.cu.
type convBiasGradP struct {
	X, Sum                              driver.Pointer
	Images, Channels, Plane, Part, Type int32
}

// biasPart is the number of pixels of a channel that a block adds in a BiasGrad.
const biasPart = 4096

// biasGrad lowers a BiasGrad.
func (b *convolutions) biasGrad() error {
	x, y := b.ins(), b.outs()
	s := x[0].shape
	if err := mustBe(tensor.Float32, y[0]); err != nil {
		return err
	}
	b.detach()
	p := convBiasGradP{x[0].at, y[0].at, int32(s[0]), int32(s[1]), int32(s[2] * s[3]), biasPart, x[0].kind()}
	parts := quotientUp(int64(p.Plane), biasPart)
	if parts > 1 {
		p.Sum = b.scratch(4 * parts * y[0].n())
	}
	kernel := "conv_bias_grad" + storage(x[0])
	if err := b.launch(kernel, driver.XY(s[1], int(parts)), driver.X(256), 0, parameter(&p)); err != nil || parts == 1 {
		return err
	}
	return b.finish(&convolution{y: y[0]}, p.Sum, parts, false)
}

// storage is the part of a kernel's name for the size of its numbers.
func storage(o operand) string {
	if o.dtype == tensor.Float32 {
		return "4"
	}
	return "2"
}
