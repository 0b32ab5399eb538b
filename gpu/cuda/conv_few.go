package cuda

import (
	"fmt"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
)

// Convolutions with few channels: the choice of their kernel, and its launch.

// convFewP is ConvFewP of conv_few.cu.
type convFewP struct {
	X, W, Bias, Y, Partial          driver.Pointer
	Images, In, Out, HX, WX, HY, WY int32
	Pad, Flipped, Rows              int32
	Type, BiasType, ReLU            int32
}

// Limits of the kernels for few channels.
const (
	fewOut     = 8    // channels of a result
	fewIn      = 64   // channels of an operand, MOST_IN of conv_few.cu
	fewDown    = 16   // channels of each, of a gather of 4×4 taps, MOST_DOWN of conv_few.cu
	fewPixels  = 2048 // below, tiles have more blocks
	fewThreads = 128  // of a block
)

// fewKernel is how the kernels for few channels compute a convolution.
type fewKernel struct {
	name string // without the size of the numbers and what follows it
	out  int32  // channels of the result, or of the small grid for weights, of a block
	grid driver.Dim
	high int32 // pixels of a column in a thread; rows of a block for weights
}

// chooseFew returns the kernel for few channels that computes a sum on a device of multi multiprocessors, false if
// there is none or tiles are faster.
func chooseFew(s convSum, g *convGeometry, multi int) (k fewKernel, ok bool) {
	in, out, hy, wy := g.Large, g.Small, g.HS, g.WS
	if s == scatters {
		in, out, hy, wy = g.Small, g.Large, g.HL, g.WL
	}
	fours := g.KH == 4 && g.KW == 4 && g.Stride == 2
	most, into := int32(fewIn), int32(fewOut)
	if fours && s == gathers {
		most, into = fewDown, fewDown
	}
	if in > most || out > into || int64(g.Images)*int64(hy)*int64(wy) < fewPixels || g.Images > 65535 {
		return k, false
	}
	across := quotientUp(int64(wy), fewThreads)
	powerOf2 := func(most int32) int32 {
		n := int32(1)
		for n < out && n < most {
			n *= 2
		}
		return n
	}
	threes := g.KH == 3 && g.KW == 3 && g.Stride == 1
	switch {
	case threes && s == weighs:
		small := powerOf2(4)
		groups := quotientUp(int64(out), int64(small))
		// About two blocks for each multiprocessor, of whole steps of four rows.
		blocks := across * int64(g.Images) * int64(hy) * int64(in) * groups
		rows := 4 * min(16, quotientUp(blocks, int64(8*multi)))
		parts := int64(g.Images) * across * quotientUp(int64(hy), rows)
		return fewKernel{"conv_few_weights3", small, driver.XYZ(int(parts), int(in), int(groups)), int32(rows)}, true
	case threes:
		k = fewKernel{name: "conv_few3", out: powerOf2(fewOut), high: 4}
		if across*quotientUp(int64(hy), 4)*int64(g.Images) < int64(2*multi) {
			k.high = 1
		}
		k.grid = driver.XYZ(int(across*quotientUp(int64(hy), int64(k.high))), int(quotientUp(int64(out), int64(k.out))),
			int(g.Images))
		return k, true
	case fours && s == scatters && g.Pad == 1 && hy == 2*g.HS && wy == 2*g.WS:
		k = fewKernel{name: "conv_few4", out: 2}
		blocks := quotientUp(int64(g.HS)*int64(g.WS), fewThreads)
		if out > 4 && blocks*int64(g.Images) >= int64(2*multi) {
			k.out = 8
		}
		k.grid = driver.XYZ(int(blocks), int(quotientUp(int64(out), int64(k.out))), int(g.Images))
		return k, true
	case fours && s == gathers:
		k = fewKernel{name: "conv_few_down4", out: 4}
		blocks := quotientUp(int64(hy)*int64(wy), fewThreads)
		if out > 4 && blocks*int64(g.Images) >= int64(2*multi) {
			k.out = 8
		}
		k.grid = driver.XYZ(int(blocks), int(quotientUp(int64(out), int64(k.out))), int(g.Images))
		return k, true
	}
	return k, false
}

// few adds the launches of a convolution with few channels, if there is a kernel for it.
func (b *convolutions) few(s convSum, c *convolution, deferred bool) (done bool, err error) {
	g := &c.geometry
	k, ok := chooseFew(s, g, b.backend.multi)
	if !ok || c.x.dtype != c.w.dtype || s != weighs && c.y.dtype != c.x.dtype || c.products == nn.BF16x3 {
		return false, nil
	}
	p := convFewP{X: c.x.at, W: c.w.at, Y: c.y.at, Images: g.Images, In: g.Large, Out: g.Small, HX: g.HL, WX: g.WL,
		HY: g.HS, WY: g.WS,
		Pad: g.Pad, Rows: k.high, Type: c.x.kind(), ReLU: flag(c.relu)}
	if c.bias != nil {
		p.Bias, p.BiasType = c.bias.at, c.bias.kind()
	}
	name := fmt.Sprintf("%s_%s_%d", k.name, storage(c.x), k.out)
	switch s {
	case scatters:
		p.In, p.Out, p.HX, p.WX, p.HY, p.WY = g.Small, g.Large, g.HS, g.WS, g.HL, g.WL
		p.Pad, p.Flipped = 2-g.Pad, 1
	case weighs:
		p.X, p.W = c.w.at, c.x.at
		parts := int64(k.grid[0])
		p.Partial = b.partial(parts*c.y.n(), deferred)
		if err := b.launch(name, k.grid, driver.X(fewThreads), 0, parameter(&p)); err != nil {
			return true, err
		}
		return true, b.finish(c, p.Partial, parts, deferred)
	}
	if k.high > 0 {
		name = fmt.Sprintf("%s_%d", name, k.high)
	}
	return true, b.launch(name, k.grid, driver.X(fewThreads), 0, parameter(&p))
}
