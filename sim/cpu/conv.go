package cpu

import (
	"prismtop/sim/cpu/square"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/volume"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Convolutions of pictures: their geometry, and the choice among the ways to gather, to
// scatter and to sum weight gradients.

// convolutions binds the convolutions of pictures and their gradients.
type convolutions struct {
	*binder
}

func (b *convolutions) bind(op nn.Op) (run func(), ok bool) {
	switch op := op.(type) {
	case nn.Conv2D:
		return b.convGather(op), true
	case nn.Conv2DGradInput:
		return b.convScatter(op.Stride, op.Pad, false), true
	case nn.Conv2DGradWeight:
		return b.convWeight(op.Stride, op.Pad, true), true
	case nn.ConvTranspose2D:
		return b.convScatter(op.Stride, op.Pad, op.ReLU), true
	case nn.ConvTranspose2DGradInput:
		return b.convGather(nn.Conv2D{Stride: op.Stride, Pad: op.Pad}), true
	case nn.ConvTranspose2DGradWeight:
		return b.convWeight(op.Stride, op.Pad, false), true
	}
	return nil, false
}

// The six convolution operators are three loops. Let the small grid be a Conv2D's
// output or a ConvTranspose2D's input, the large grid the other one. Both weight
// layouts are w[s][l][ky][kx] with s a channel of the small grid, l one of the
// large, and every product is
//
//	small[s, p] · large[l, stride·p − pad + k] · w[s][l][k]
//
//	gather:  small from large and w   (Conv2D, ConvTranspose2DGradInput)
//	scatter: large from small and w   (ConvTranspose2D, Conv2DGradInput)
//	weight:  w from small and large   (both weight gradients)

// geometry describes both grids and the kernel between them.
type geometry struct {
	n              int // images
	small, large   int // channels
	hs, ws, hl, wl int // rows and columns
	kh, kw         int
	stride, pad    int
}

// taps is the number of weights between two channels.
func (g *geometry) taps() int { return g.kh * g.kw }

// single reports whether the small grid is one pixel and the kernel covers the
// large grid exactly: a matrix product (PRISM's first layer, 1×1 → 4×4).
func (g *geometry) single() bool {
	return g.hs == 1 && g.ws == 1 && g.pad == 0 && g.hl == g.kh && g.wl == g.kw
}

// geometryOf returns the geometry of the small and large images and the weights.
func geometryOf(small, large, w tensor.Shape, stride, pad int) geometry {
	return geometry{n: small[0], small: small[1], hs: small[2], ws: small[3],
		large: large[1], hl: large[2], wl: large[3], kh: w[2], kw: w[3], stride: stride, pad: pad}
}

// bias is the optional third input, one value per output channel.
func (b *convolutions) bias() []float32 {
	if len(b.current.In) < 3 {
		return nil
	}
	return b.in(2)
}

// convGather binds Conv2D (x, w, b → y) and ConvTranspose2DGradInput (gy, w → gx).
func (b *convolutions) convGather(op nn.Conv2D) func() {
	largeShape, smallShape := b.resized(op)
	g := geometryOf(smallShape, largeShape, b.inShape(1), op.Stride, op.Pad)
	if run := b.convPairs(&g, op); run != nil {
		return run
	}
	if g.single() && !b.split() && !op.Up && !op.Pool {
		large, bias, small := b.in(0), b.bias(), b.out(0)
		return b.rectified(op.ReLU, small, b.denseGather(&g, small, large, b.matrixInput(1), bias))
	}
	if shape := g.gatherShape(); b.halved16(0) && !op.Up && !op.Pool && !b.direct(&shape) && !b.alone(&shape) &&
		!(b.patched(&g) && g.hs*g.ws <= patchedPixels) && shape.divide() {
		shape.relu = op.ReLU
		return shape.runner(b, b.outValues(0), b.inValues(0), b.in(1), b.bias())
	}
	large, w, bias, small := b.in(0), b.in(1), b.bias(), b.out(0)
	if run := b.resizedGather(&g, op, small, large, w, bias); run != nil {
		return run
	}
	return b.gather(g, op.ReLU, small, large, w, bias)
}

// gather binds a gather with the matching kernel. bias may be nil.
func (b *convolutions) gather(g geometry, relu bool, small, large, w, bias []float32) func() {
	if b.tiled(&g) {
		return b.rectified(relu, small, b.gatherTiles(&g, small, large, w, bias))
	}
	if run := b.winograd(&g, relu, small, large, w, bias); run != nil {
		return run
	}
	b.splitGather(&g, &large, &w)
	if g.single() {
		return b.rectified(relu, small, b.denseGather(&g, small, large, denseWeights{f: w}, bias))
	}
	if b.patched(&g) && g.hs*g.ws <= patchedPixels {
		return b.rectified(relu, small, b.gatherPatches(&g, small, large, w, bias))
	}
	shape := g.gatherShape()
	shape.relu = relu
	if run := b.square(&shape, square.Options{ReLU: relu}, small, large, w, bias); run != nil {
		return run
	}
	switch {
	case b.direct(&shape):
		return b.directly(&shape, small, large, w, bias)
	case b.alone(&shape):
		return b.spreadTaps(&shape, false, small, large, w, bias)
	}
	if c, ok := g.gatherBands(); ok {
		c.relu = relu
		return c.runner(b, volume.Floats(small), volume.Floats(large), w, bias)
	}
	c := newLowered(b, gatherLowering(&g))
	c.relu = relu
	return c.runner(b, small, large, w, bias)
}

// halved16 reports whether input i is a 16-bit one that no kernel splits: kernels that work in bands
// convert it piece by piece.
func (b *convolutions) halved16(i int) bool {
	return b.buffer(b.current.In[i]).DType.Size() == 2 && !b.split()
}

// rectified returns a closure that calls run and then computes y = max(0, y), for
// kernels without a ReLU of their own.
func (b *convolutions) rectified(relu bool, y []float32, run func()) func() {
	if !relu {
		return run
	}
	set := b.backend.set
	rectify := b.each(len(y), grain, func(lo, hi int) { elements.ReLU(set, y[lo:hi], y[lo:hi]) })
	return func() {
		run()
		rectify()
	}
}

// convScatter binds ConvTranspose2D (x, w, b → y), with a ReLU or without, and
// Conv2DGradInput (gy, w → gx).
func (b *convolutions) convScatter(stride, pad int, relu bool) func() {
	g := geometryOf(b.inShape(0), b.outShape(0), b.inShape(1), stride, pad)
	if run := b.scatterPairs(&g, relu); run != nil {
		return run
	}
	if run := b.directScatter(&g, relu); run != nil {
		return run
	}
	if g.single() && !b.split() {
		small, bias, large := b.in(0), b.bias(), b.out(0)
		return b.rectified(relu, large, b.denseScatter(&g, large, small, b.matrixInput(1), bias))
	}
	if shape := g.scatterShape(); b.halved16(0) && g.stride == 1 && !b.direct(&shape) && shape.divide() {
		shape.relu = relu
		return shape.runner(b, b.outValues(0), b.inValues(0), b.in(1), b.bias())
	}
	small, w, bias, large := b.in(0), b.in(1), b.bias(), b.out(0)
	if b.tiled(&g) {
		return b.rectified(relu, large, b.scatterTiles(&g, large, small, w, bias))
	}
	b.splitScatter(&g, &small, &w)
	if g.single() {
		return b.rectified(relu, large, b.denseScatter(&g, large, small, denseWeights{f: w}, bias))
	}
	if g.stride == 1 {
		shape := g.scatterShape()
		shape.relu = relu
		if run := b.square(&shape, square.Options{ReLU: relu}, large, small, w, bias); run != nil {
			return run
		}
		if b.direct(&shape) {
			return b.directly(&shape, large, small, w, bias)
		}
	}
	if b.patched(&g) {
		return b.scatterPatches(&g, large, small, w, bias, relu)
	}
	if c, ok := g.scatterBands(); ok {
		c.relu = relu
		return c.runner(b, volume.Floats(large), volume.Floats(small), w, bias)
	}
	c := newLowered(b, scatterLowering(&g))
	return b.rectified(relu, large, c.runner(b, large, small, w, bias))
}

// convWeight binds the weight gradients: Conv2D's reads x (large) and gy (small),
// ConvTranspose2D's reads x (small) and gy (large).
func (b *convolutions) convWeight(stride, pad int, largeFirst bool) func() {
	s, l := 0, 1
	if largeFirst {
		s, l = 1, 0
	}
	g := geometryOf(b.inShape(s), b.inShape(l), b.outShape(0), stride, pad)
	if b.buffer(b.current.Out[0]).Factored {
		return b.keepFactors(&g, s, l)
	}
	return b.weightGradient(g, b.out(0), s, l)
}

// weightGradient computes gw with the matching kernel, from inputs s, the small grid, and l, the large
// one.
func (b *convolutions) weightGradient(g geometry, gw []float32, s, l int) func() {
	if b.pairedWeight(&g) {
		return b.weightPatches(&g, gw, b.newPairWeight(&g, s, l))
	}
	if run := b.weightPairBands(&g, gw, s, l); run != nil {
		return run
	}
	if b.halved16(s) && !b.tiled(&g) && !b.patched(&g) {
		if run := b.weightBands(&g, gw, b.inValues(s), b.inValues(l)); run != nil {
			return run
		}
	}
	small, large := b.in(s), b.in(l)
	if b.tiled(&g) {
		return b.weightTiles(&g, gw, small, large)
	}
	b.splitWeight(&g, &small, &large)
	if g.single() {
		return b.denseWeight(&g, gw, small, large)
	}
	if b.patched(&g) {
		return b.weightPatches(&g, gw, b.newPatchWeight(&g, small, large))
	}
	if run := b.weightBands(&g, gw, volume.Floats(small), volume.Floats(large)); run != nil {
		return run
	}
	return b.lowerWeight(&g, gw, small, large)
}
