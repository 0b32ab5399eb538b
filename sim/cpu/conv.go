package cpu

import (
	"prismtop/sim/cpu/pairconv"
	"prismtop/sim/cpu/square"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/vec/matrix"
	"prismtop/sim/cpu/volume"
	"prismtop/sim/cpu/winograd"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The convolutions of pictures: what they compute, and the ordered table of the kernels that compute them.

// The six convolution operators are three loops. Let the small grid be a Conv2D's
// output or a ConvTranspose2D's input, the large grid the other one. Both weight
// layouts are w[s][l][ky][kx] with s a channel of the small grid, l one of the
// large, and every product is
//
//	small[s, p] · large[l, stride·p − pad + k] · w[s][l][k]
//
//	gathers:  small from large and w   (Conv2D, ConvTranspose2DGradInput)
//	scatters: large from small and w   (ConvTranspose2D, Conv2DGradInput)
//	weighs:   w from small and large   (both weight gradients)
//	resizes:  gathers from a repeated image, or pools the result (Conv2D with Up or Pool)
//	updates:  weighs, and takes Adam's step (ConvAdam)

// loops are sets of these loops.
type loops uint8

const (
	gathers loops = 1 << iota
	resizes
	scatters
	weighs
	updates
)

// operands is how a kernel takes a convolution's operands.
type operands uint8

const (
	anyOperands operands = iota
	floats               // float32; kernels that convert pieces themselves take 16 bits as well, others have them widened
	ofPairs              // bfloat16 on a processor that multiplies pairs of them, for a result in bfloat16 or float32
	ofParts              // float32 to be split into parts (nn.BF16x3)
)

// convolutionKernel is a way to compute convolutions.
type convolutionKernel struct {
	name     string
	computes loops
	takes    operands
	fits     func(*convolution) bool // shape, kernel, stride, processor, threads
	bind     func(*convolution) func()
}

// convolutionKernels are the kernels of convolutions. The first one that fits computes a step:
//
//	4x4          4×4 taps of stride 2, products with patches (conv_patch.go; of split operands conv_tiles.go;
//	             of pairs conv_pairs.go and package pairconv)
//	phases       4×4 taps of stride 2 as four direct convolutions (conv_phases.go)
//	direct       a tile of outputs stays in registers until all products are added (conv_direct.go)
//	winograd     3×3 taps with a quarter of the multiplications (package winograd)
//	square       3×3 taps, with or without an upsampling or a max-pooling (package square)
//	one channel  of output: every tap is a channel, whose products are then added (conv_spread.go)
//	bands        bands of rows, copied once, from which channels are summed tap by tap (conv_band.go)
//	lowered      anything: copies for each column of taps, phases for strides (conv_lower.go)
//	dense        one pixel and a whole image: a product with a matrix (conv_dense.go)
//	factors      the two vectors whose product is the gradient of dense (conv_dense.go)
//	outer        Adam with these (adam.go)
//	gradient     Adam after another kernel has summed the gradient (adam.go)
//	split        the operands are split, then another kernel multiplies the parts (split.go)
//	resized      the image is repeated or the result pooled, beside another kernel
//
// Those of pairs multiply pairs of bfloat16, those of amx tiles of them.
func convolutionKernels() []convolutionKernel {
	return []convolutionKernel{
		{"factors", weighs, anyOperands, factored, bindFactors},

		// Products of pairs of bfloat16.
		{"pairs 4x4 amx", gathers, ofPairs, all(patched, bare, fitsTileGather), bindTileGather},
		{"pairs 4x4", gathers, ofPairs, all(patched, fitsGather), bindPairGather},
		{"pairs 4x4 amx", scatters, ofPairs, all(patched, bare, fitsTileScatter), bindTileScatter},
		{"pairs 4x4", scatters, ofPairs, all(patched, fitsScatter), bindPairScatter},
		{"pairs 4x4", weighs, ofPairs, all(patched, evenRows), bindPatchPairsWeight},
		{"pairs direct amx", gathers | resizes, ofPairs, all(constantWeights, fitsTileDirect), bindTileDirect},
		{"pairs winograd", gathers | resizes, ofPairs, all(constantWeights, fitsWinogradPairs), bindWinogradPairs},
		{"pairs one channel", gathers | resizes, ofPairs, fitsSpreadPairs, bindSpreadPairs},
		{"pairs direct", gathers | resizes | scatters, ofPairs, fitsDirectPairs, bindDirectPairs},
		{"pairs bands", weighs, ofPairs, fitsPairBands, bindPairBandsWeight},

		// Products of split operands: on tiles, or as one sum of twice as many terms.
		{"split 4x4 amx", gathers, ofParts, tiled, bindGatherTiles},
		{"split 4x4 amx", scatters, ofParts, tiled, bindScatterTiles},
		{"split 4x4 amx", weighs, ofParts, tiled, bindWeightTiles},
		{"split", gathers | scatters | weighs, ofParts, always, bindParts},

		// Products of float32.
		{"winograd", gathers, floats, fitsWinograd, bindWinograd},
		{"dense", gathers, floats, single, bindDenseGather},
		{"dense", scatters, floats, single, bindDenseScatter},
		{"dense", weighs, floats, single, bindDenseWeight},
		{"4x4", gathers, floats, all(patched, fewPixels), bindGatherPatches},
		{"phases", scatters, floats, all(patched, fitsPhases), bindPhases},
		{"4x4", scatters, floats, patched, bindScatterPatches},
		{"4x4", weighs, floats, all(patched, inPanels), bindPanelWeight},
		{"4x4", weighs, floats, patched, bindPatchWeight},
		{"square", gathers | resizes | scatters, floats, fitsSquare, bindSquare},
		{"one channel", gathers | resizes, floats, fitsSpread, bindSpreadTaps},
		{"resized", resizes, anyOperands, always, bindResizeApart},
		{"direct", gathers | scatters, floats, fitsDirect, bindDirect},
		{"bands", gathers | scatters, floats, inBands, bindSumBands},
		{"bands", weighs, floats, all(inBands, fewWeights), bindBandsWeight},
		{"lowered", gathers | scatters, floats, always, bindLowered},
		{"lowered", weighs, floats, always, bindLoweredWeight},

		// Adam with the gradient of the weights.
		{"outer", updates, floats, all(single, oneImage), bindOuterAdam},
		{"pairs 4x4", updates, ofPairs, all(patched, evenRows, onePairBand), bindPatchPairsAdam},
		{"4x4", updates, floats, all(patched, onePatchBand), bindPatchAdam},
		{"gradient", updates, anyOperands, always, bindGradientAdam},
	}
}

// all returns the condition that all conditions hold.
func all(conditions ...func(*convolution) bool) func(*convolution) bool {
	return func(c *convolution) bool {
		for _, holds := range conditions {
			if !holds(c) {
				return false
			}
		}
		return true
	}
}

func always(*convolution) bool { return true }

// convolution is a convolution to be bound: a step, or a part of one.
type convolution struct {
	*binder
	geometry
	computes       loops
	relu, up, pool bool         // of a gather: see nn.Conv2D; relu also of a scatter
	s, l           int          // the inputs that are the small and the large grid
	shape          bands        // as a gather; zero for scatters of another stride than 1
	made           [2][]float32 // inputs made of the step's own: repeated pixels, or parts
	result         []float32    // where the result goes, unless it is the step's output
	parted         bool         // made are parts
	update         *convUpdate  // of updates
}

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

// convolutions binds the convolutions of pictures and their gradients.
type convolutions struct {
	*binder
}

func (b *convolutions) bind(op nn.Op) (run func(), ok bool) {
	in, out := b.inShape, b.outShape
	switch op := op.(type) {
	case nn.Conv2D:
		large, small := enlarged(in(0), op.Up), enlarged(out(0), op.Pool)
		computes := gathers
		if op.Up || op.Pool {
			computes = resizes
		}
		c := newConvolution(b.binder, computes, small, large, in(1), op.Stride, op.Pad)
		c.relu, c.up, c.pool = op.ReLU, op.Up, op.Pool
		return c.bind(), true
	case nn.Conv2DGradInput:
		return newConvolution(b.binder, scatters, in(0), out(0), in(1), op.Stride, op.Pad).bind(), true
	case nn.Conv2DGradWeight:
		return newWeightGradient(b.binder, weighs, 1, 0, op.Stride, op.Pad).bind(), true
	case nn.ConvTranspose2D:
		c := newConvolution(b.binder, scatters, in(0), out(0), in(1), op.Stride, op.Pad)
		c.relu = op.ReLU
		return c.bind(), true
	case nn.ConvTranspose2DGradInput:
		return newConvolution(b.binder, gathers, out(0), in(0), in(1), op.Stride, op.Pad).bind(), true
	case nn.ConvTranspose2DGradWeight:
		return newWeightGradient(b.binder, weighs, 0, 1, op.Stride, op.Pad).bind(), true
	}
	return nil, false
}

// enlarged returns the shape of images with twice as many rows and columns, if they are to be.
func enlarged(s tensor.Shape, twice bool) tensor.Shape {
	if twice {
		return tensor.Shape{s[0], s[1], 2 * s[2], 2 * s[3]}
	}
	return s
}

// newConvolution returns a convolution between small and large images.
func newConvolution(b *binder, computes loops, small, large, w tensor.Shape, stride, pad int) *convolution {
	c := &convolution{binder: b, computes: computes, geometry: geometry{n: small[0], small: small[1], hs: small[2],
		ws: small[3], large: large[1], hl: large[2], wl: large[3], kh: w[2], kw: w[3], stride: stride, pad: pad}}
	c.asGather()
	return c
}

// newWeightGradient returns the gradient of a step's first output, whose inputs s and l are the small and the large
// images.
func newWeightGradient(b *binder, computes loops, s, l, stride, pad int) *convolution {
	c := newConvolution(b, computes, b.inShape(s), b.inShape(l), b.outShape(0), stride, pad)
	c.s, c.l = s, l
	return c
}

// asGather finds the shape of the convolution as a gather.
func (b *convolution) asGather() {
	switch {
	case b.computes != scatters:
		b.shape = b.gatherShape()
	case b.stride == 1:
		b.shape = b.scatterShape()
	}
}

// bind binds the first kernel that fits.
func (b *convolution) bind() func() {
	for _, k := range convolutionKernels() {
		if k.computes&b.computes != 0 && b.offers(k.takes) && k.fits(b) {
			b.served = append(b.served, k.name)
			return k.bind(b)
		}
	}
	return b.fail("no kernel for this convolution")
}

// offers reports whether a kernel can take the operands.
func (b *convolution) offers(o operands) bool {
	parts := b.binder.split() && !b.parted
	switch o {
	case floats:
		return !parts
	case ofPairs:
		return b.products() != vec.NoPairs
	case ofParts:
		return parts
	}
	return true
}

// products returns how products of pairs are computed: NoPairs unless the operands are the step's own and bfloat16, and
// the result is bfloat16 or float32.
func (b *convolution) products() vec.Pairs {
	inputs, y := b.current.In, b.buffer(b.current.Out[0]).DType
	bfloat := func(i int) bool { return b.buffer(inputs[i]).DType == tensor.BFloat16 }
	if b.made[0] != nil || b.binder.split() || !bfloat(0) || !bfloat(1) || y != tensor.Float32 && y != tensor.BFloat16 {
		return vec.NoPairs
	}
	return b.backend.pairs
}

// input returns the i-th input as float32.
func (b *convolution) input(i int) []float32 {
	if b.made[i] != nil {
		return b.made[i]
	}
	return b.in(i)
}

// output returns the result as float32.
func (b *convolution) output() []float32 {
	if b.result != nil {
		return b.result
	}
	return b.out(0)
}

// bias is the optional third input, one value per output channel.
func (b *convolution) bias() []float32 {
	if len(b.current.In) < 3 {
		return nil
	}
	return b.in(2)
}

// halved reports whether operands have 16 bits, and pieces returns the i-th input as it is then, for kernels that
// convert it piece by piece.
func (b *convolution) halved() bool {
	return b.buffer(b.current.In[0]).DType.Size() == 2 && b.made[0] == nil
}
func (b *convolution) pieces(i int) volume.Values {
	if b.halved() {
		return b.inValues(i)
	}
	return volume.Floats(b.input(i))
}

// Conditions of more than one kernel.

// single reports whether the small grid is one pixel and the kernel covers the large grid exactly: a matrix product
// (PRISM's first layer, 1×1 → 4×4).
func single(b *convolution) bool {
	return b.hs == 1 && b.ws == 1 && b.pad == 0 && b.hl == b.kh && b.wl == b.kw
}

// patched reports whether taps are 4×4 of stride 2 and padding 1, with a number of pixels that the kernels accept.
func patched(b *convolution) bool {
	return b.backend.set != vec.Go && b.kh == 4 && b.kw == 4 && b.stride == 2 && b.pad == 1 && b.hl == 2*b.hs &&
		b.wl == 2*b.ws && b.hs*b.ws%4 == 0 && 4*(b.wl+2) <= planeFloats
}

// centred reports whether taps are 3×3 of stride 1 and padding 1.
func centred(b *convolution) bool { return b.kh == 3 && b.kw == 3 && b.stride == 1 && b.pad == 1 }

// bfloat reports whether the result is bfloat16, bare whether it is that of tiles, without a bias and a ReLU.
func (b *convolution) bfloat() bool { return b.buffer(b.current.Out[0]).DType == tensor.BFloat16 }
func bare(b *convolution) bool {
	return b.backend.tiles != matrix.NoTiles && !b.relu && len(b.current.In) < 3 && b.bfloat()
}

// constantWeights reports whether the weights are a variable in bfloat16 that the plan does not change: it is brought
// into another form when it changes.
func constantWeights(b *convolution) bool { return b.binder.constant(1) >= 0 }

// Conditions of one kernel.

func factored(b *convolution) bool { return b.buffer(b.current.Out[0]).Factored }

func fitsTileGather(b *convolution) bool  { return pairconv.TileGatherFits(b.pairShape()) }
func fitsGather(b *convolution) bool      { return pairconv.GatherFits(b.pairShape()) }
func fitsTileScatter(b *convolution) bool { return pairconv.TileScatterFits(b.pairShape()) }
func fitsScatter(b *convolution) bool     { return pairconv.ScatterFits(b.pairShape()) }

func fitsTileDirect(b *convolution) bool {
	centred := b.kh == b.kw && b.stride == 1 && b.pad == b.kh/2
	return b.backend.tiles != matrix.NoTiles && centred && b.bfloat() && pairconv.TileDirectFits(b.pairDirect())
}

func fitsWinogradPairs(b *convolution) bool {
	return centred(b) && b.bfloat() && winograd.PairsFit(b.large, b.small, b.hs, b.ws, b.pool)
}

// fitsWinograd reports whether the step asks for Winograd's algorithm, and fits it.
func fitsWinograd(b *convolution) bool {
	return b.current.Products == nn.Winograd && centred(b) && b.n*b.hs*b.ws >= winogradPixels &&
		winograd.Fits(b.large, b.small, b.hs, b.ws)
}

// fitsSquare reports whether package square has kernels for a convolution of float32. With few input channels it pays
// if there are many output channels. Weights that are converted at every run would also have to be packed at every
// run, which does not pay.
func fitsSquare(b *convolution) bool {
	c := &b.shape
	centred := c.kh == 3 && c.kw == 3 && c.stride == 1 && c.top == 1 && c.left == 1
	pays := c.in*c.kh*c.kw >= directTerms || c.out >= 4*conv.SquareRows
	return centred && pays && square.Fits(b.backend.set, c.in, c.out, c.outH, c.outW, b.squareOptions()) &&
		!b.binder.split() && b.buffer(b.current.In[1]).DType == tensor.Float32
}

// fewPixels bounds the small grid of a gather by patches: with more pixels and fewer channels a patch is reused too
// little. With AVX2 it always is: patches are read from the second-level cache twice as often as with AVX-512, and
// direct convolutions of as few pixels take a tenth to a quarter less time.
func fewPixels(b *convolution) bool {
	return b.hs*b.ws <= patchedPixels && (b.backend.set != vec.AVX2 || !fitsDirect(b))
}

func evenRows(b *convolution) bool     { return b.hs%2 == 0 }
func oneImage(b *convolution) bool     { return b.n == 1 }
func onePairBand(b *convolution) bool  { return b.n == 1 && b.pairBand() == b.hs }
func onePatchBand(b *convolution) bool { return b.n == 1 && b.hs <= b.patchBand() }

// inBands reports whether bands fit, fewWeights whether their weight gradients do.
func inBands(b *convolution) bool    { return b.shape.divide() }
func fewWeights(b *convolution) bool { return b.small*b.large*b.taps() <= weightFloats }

// resizeApart repeats the image or pools the result, and binds a kernel that does neither.
func bindResizeApart(b *convolution) func() {
	set, plain := b.backend.set, *b
	plain.computes, plain.up, plain.pool = gathers, false, false
	plain.made, plain.result = [2][]float32{b.in(0), b.in(1)}, b.out(0)
	after := func() {}
	if b.up {
		rows, columns, x := b.n*b.large*b.hl/2, b.wl/2, plain.made[0]
		y := b.floats(4 * rows * columns)
		plain.made[0] = y
		b.before = append(b.before, b.rows(rows, 4*columns, func(lo, hi int) {
			elements.DoubleRows(set, y[4*lo*columns:], x[lo*columns:], hi-lo, columns)
		}))
	}
	if b.pool {
		rows, columns, y := b.n*b.small*b.hs/2, b.ws/2, plain.result
		x := b.floats(4 * rows * columns)
		plain.result = x
		after = b.rows(rows, 4*columns, func(lo, hi int) {
			elements.MaxPool(set, y[lo*columns:], x[4*lo*columns:], hi-lo, columns)
		})
	}
	return inOrder(plain.bind(), after)
}

// rectified returns a closure that calls run and then computes y = max(0, y), for
// kernels without a ReLU of their own.
func (b *convolution) rectified(y []float32, run func()) func() {
	if !b.relu {
		return run
	}
	set := b.backend.set
	return inOrder(run, b.each(len(y), grain, func(lo, hi int) { elements.ReLU(set, y[lo:hi], y[lo:hi]) }))
}

// inOrder returns a closure that calls one closure after the other.
func inOrder(first, second func()) func() {
	return func() {
		first()
		second()
	}
}
