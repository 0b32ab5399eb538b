package cpu

import (
	"prismtop/sim/cpu/volume"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Convolutions of volumes, their gradients, and instance normalisation.

// volumes binds the convolutions and normalisations of volumes.
type volumes struct {
	*binder
}

func (b *volumes) bind(op nn.Op) (run func(), ok bool) {
	switch op := op.(type) {
	case nn.Conv3D:
		return b.volumeConv(op), true
	case nn.Conv3DGradInput:
		return b.volumeConvGradInput(op), true
	case nn.Conv3DGradWeight:
		return b.volumeConvGradWeight(op), true
	case nn.ConvTranspose3D:
		return b.enlarge(), true
	case nn.ConvTranspose3DGradInput:
		return b.enlargeGradInput(), true
	case nn.ConvTranspose3DGradWeight:
		return b.enlargeGradWeight(), true
	case nn.InstanceNorm:
		return b.instanceNorm(op), true
	case nn.InstanceNormGrad:
		return b.instanceNormGrad(op), true
	}
	return nil, false
}

// volumeGeometry returns the geometry of the small and the large grid and the weights. The large
// grid's volumes have channels of their own. With stride 0, the stride is the kernel's
// sides; else the padding is half of them.
func volumeGeometry(small, large, w tensor.Shape, stride int) volume.Geometry {
	k, _ := nn.KernelSides(w)
	g := volume.Geometry{N: small[0], Kernel: k, Stride: k,
		Small: volume.Grid{Sides: volume.Axes(small[1:4]), Channels: small[4]},
		Large: volume.Grid{Sides: volume.Axes(large[1:4]), Channels: w[1]}}
	if stride != 0 {
		g.Stride, g.Pad = volume.Axes{stride, stride, stride}, volume.Axes{k[0] / 2, k[1] / 2, k[2] / 2}
	}
	return g
}

// volumeParts returns the inputs from position first on as parts of the large grid.
func (b *volumes) volumeParts(first int) []volume.Part {
	var parts []volume.Part
	at := 0
	for i := first; i < len(b.current.In); i++ {
		channels := b.inShape(i)[4]
		parts = append(parts, volume.Part{X: b.inValues(i), First: at, Channels: channels})
		at += channels
	}
	return parts
}

// volumeConv binds Conv3D (w, b, x… → y).
func (b *volumes) volumeConv(op nn.Conv3D) func() {
	first := 1
	if op.Bias {
		first = 2
	}
	g := volumeGeometry(b.outShape(0), b.inShape(first), b.inShape(0), op.Stride)
	var bias []float32
	if op.Bias {
		bias = b.in(1)
	}
	parts, w, y := b.volumeParts(first), b.in(0), b.outValues(0)
	return b.correlate(g.Gather(b.backend.set, y, parts, w, bias))
}

// tileSide is the side of the tiles by which Winograd's algorithm computes volumes: 2 with
// Exact products, whose rounding error is about that of the sums themselves; 4 if its error,
// ten times as large, was asked for or is far below that of 16-bit operands.
func (b *volumes) tileSide() int {
	half := b.buffer(b.current.In[0]).DType != tensor.Float32 // of a convolution's weights or upstream gradient
	if half || b.current.Products == nn.Winograd {
		return 4
	}
	return 2
}

// volumeConvGradInput binds Conv3DGradInput (gy, w → gx).
func (b *volumes) volumeConvGradInput(op nn.Conv3DGradInput) func() {
	g := volumeGeometry(b.inShape(0), b.outShape(0), b.inShape(1), op.Stride)
	gy, w, gx := b.inValues(0), b.in(1), b.outValues(0)
	return b.correlate(g.Scatter(b.backend.set, gx, gy, op.First, b.outShape(0)[4], w))
}

// volumeConvGradWeight binds Conv3DGradWeight (gy, x… → gw, gb).
func (b *volumes) volumeConvGradWeight(op nn.Conv3DGradWeight) func() {
	g := volumeGeometry(b.inShape(0), b.inShape(1), b.outShape(0), op.Stride)
	var gb []float32
	if op.Bias {
		gb = b.out(1)
	}
	parts, gy, gw := b.volumeParts(1), b.inValues(0), b.out(0)
	return b.collect(&g, gw, gb, gy, parts)
}

// enlarge binds ConvTranspose3D (x, w → y).
func (b *volumes) enlarge() func() {
	g := volumeGeometry(b.inShape(0), b.outShape(0), b.inShape(1), 0)
	x, w, y := b.inValues(0), b.in(1), b.outValues(0)
	return b.correlate(g.Scatter(b.backend.set, y, x, 0, g.Large.Channels, w))
}

// enlargeGradInput binds ConvTranspose3DGradInput (gy, w → gx).
func (b *volumes) enlargeGradInput() func() {
	g := volumeGeometry(b.outShape(0), b.inShape(0), b.inShape(1), 0)
	gy, w, gx := b.inValues(0), b.in(1), b.outValues(0)
	return b.correlate(g.Gather(b.backend.set, gx, []volume.Part{{X: gy, Channels: g.Large.Channels}}, w, nil))
}

// enlargeGradWeight binds ConvTranspose3DGradWeight (x, gy → gw).
func (b *volumes) enlargeGradWeight() func() {
	g := volumeGeometry(b.inShape(0), b.inShape(1), b.outShape(0), 0)
	x, gy, gw := b.inValues(0), b.inValues(1), b.out(0)
	return b.collect(&g, gw, nil, x, []volume.Part{{X: gy, Channels: g.Large.Channels}})
}

// correlate returns the closure that runs a correlation.
func (b *volumes) correlate(c *volume.Correlation) func() {
	c.SetMatrices(b.floats(c.MatrixFloats()))
	b.table(c.TableBytes(), 1)
	arrange := b.rows(c.Rows(), panelColumns, c.Arrange)
	if t := c.Tiles(b.backend.tiles); t != nil {
		return b.correlateOnTiles(t, arrange)
	}
	if w := c.Winograd(b.tileSide()); w != nil {
		return b.correlateTiles(w, arrange)
	}
	compute := b.shared(c.Tasks(), c.Scratch(), c.Work(), func(scratch []float32, lo, hi int) {
		for task := lo; task < hi; task++ {
			c.Compute(scratch, task)
		}
	})
	return func() {
		arrange()
		compute()
	}
}

// correlateOnTiles returns the closure that runs a correlation by products of tiles, after its weights are arranged.
func (b *volumes) correlateOnTiles(t *volume.Tiles, arrange func()) func() {
	t.SetPacked(b.halves(t.PackedHalves()))
	b.table(t.TableBytes(), 1)
	pack := b.rows(t.Blocks(), panelColumns, t.Pack)
	compute := b.shared(t.Tasks(), t.Scratch(), t.Work(), func(scratch []float32, lo, hi int) {
		for task := lo; task < hi; task++ {
			t.Compute(scratch, task)
		}
	})
	return func() {
		arrange()
		pack()
		compute()
	}
}

// correlateTiles returns the closure that runs a correlation by Winograd's algorithm, after
// its weights are arranged.
func (b *volumes) correlateTiles(w *volume.Winograd, arrange func()) func() {
	w.SetKernels(b.floats(w.KernelFloats()))
	transform := b.shared(w.Rows(), w.RowScratch(), winogradCost*panelColumns, w.Transform)
	compute := b.shared(w.Tasks(), w.Scratch(), w.Work(), func(scratch []float32, lo, hi int) {
		for task := lo; task < hi; task++ {
			w.Compute(scratch, task)
		}
	})
	return func() {
		arrange()
		transform()
		compute()
	}
}

// panelColumns is about the number of weights of a matrix's row, read at a stride.
const panelColumns = 128

// collect returns the closure that runs the gradient of weights.
func (b *volumes) collect(g *volume.Geometry, gw, gb []float32, small volume.Values, parts []volume.Part) func() {
	c := g.WeightGradient(b.backend.set, gw, gb, small, parts)
	if c.Tiles(b.backend.tiles); !c.Tiled() {
		c.Winograd(b.tileSide())
	}
	if !c.Tiled() {
		small.F = b.in(0)
		for i := range parts {
			parts[i].X.F = b.in(1 + i)
		}
		c = g.WeightGradient(b.backend.set, gw, gb, small, parts)
	}
	pool := b.backend.pool
	c.SetSums(b.floats(c.SumFloats()), b.float64s(c.BiasFloats()))
	compute := b.shared(c.Tasks(), c.Scratch(), c.Work(), func(scratch []float32, lo, hi int) {
		for share := lo; share < hi; share++ {
			c.Compute(scratch, share, pool.Ended)
		}
	})
	add := b.rows(c.Rows(), panelColumns, c.Collect)
	return func() {
		compute()
		add()
		c.CollectBias()
	}
}

// channelsLast returns the numbers of a volume.
func channelsLast(s tensor.Shape) volume.Channels {
	return volume.Channels{N: s[0], Voxels: s[1] * s[2] * s[3], C: s[4]}
}

// instanceNorm binds InstanceNorm (x, gamma, beta, residual → y, mean, inverseStd).
func (b *volumes) instanceNorm(op nn.InstanceNorm) func() {
	o := &volume.Norm{Channels: channelsLast(b.inShape(0)), Set: b.backend.set, X: b.inValues(0), Y: b.outValues(0),
		Gamma: b.in(1), Beta: b.in(2), Mean: b.out(1), InverseStd: b.out(2), Eps: decimal(op.Eps), Slope: op.Slope}
	if op.Residual {
		o.Residual = b.inValues(3)
	}
	o.Sums, o.Factors = b.float64s(o.SumFloats()), b.floats(2*o.N*o.C)
	return b.norm(o.Channels, o)
}

// norm returns a closure that runs the passes of a norm: over one image after another where
// that is faster and the images suffice for the threads, or over all images.
func (b *volumes) norm(c volume.Channels, p volume.Passes) func() {
	pool := b.backend.pool
	images := b.shared(c.N, p.Scratch(), normCost*c.Voxels*c.C, func(scratch []float32, lo, hi int) {
		for image := lo; image < hi; image++ {
			c.Image(scratch, image, p)
		}
	})
	measure, apply := b.blocks(c, p.Scratch(), p.Measure), b.blocks(c, p.Scratch(), p.Apply)
	return func() {
		if threads := pool.Threads(); c.Near() && (c.N%threads == 0 || c.N >= 4*threads) {
			images()
			return
		}
		measure()
		for image := 0; image < c.N && !pool.Ended(); image++ {
			p.Finish(image)
		}
		apply()
	}
}

// normCost is the time of a norm for a value, in multiplications of a kernel.
const normCost = 16

// blocks returns a closure that runs body for every block of a norm.
func (b *volumes) blocks(c volume.Channels, size int, body func(scratch []float32, block int)) func() {
	return b.shared(c.Blocks(), size, normCost*c.N*c.Voxels*c.C/c.Blocks(), func(scratch []float32, lo, hi int) {
		for block := lo; block < hi; block++ {
			body(scratch, block)
		}
	})
}

// instanceNormGrad binds InstanceNormGrad.
func (b *volumes) instanceNormGrad(op nn.InstanceNormGrad) func() {
	o := &volume.NormGradient{Channels: channelsLast(b.inShape(0)), Set: b.backend.set, X: b.inValues(0),
		Y: b.inValues(1), GY: b.inValues(2), Gamma: b.in(3), Mean: b.in(4), InverseStd: b.in(5),
		GX: b.outValues(0), GGamma: b.out(1), GBeta: b.out(2), Slope: op.Slope}
	if op.Residual {
		o.GResidual = b.outValues(3)
	}
	o.Sums = b.float64s(o.SumFloats())
	o.Panels()
	b.table(o.PanelBytes(), 1)
	run := b.norm(o.Channels, o)
	pool := b.backend.pool
	return func() {
		run()
		if !pool.Ended() {
			o.Collect()
		}
	}
}
