package conv

import (
	"unsafe"

	"prismtop/sim/cpu/vec"
)

// TapLanes is the number of pixels of a vector.
func TapLanes(s vec.Set) int { return [...]int{vec.Go: 16, vec.AVX2: 8, vec.AVX512: 16}[s] }

// tapKernel computes tiles of a number of vectors.
type tapKernel func(y *float32, pitch int, x *float32, at *int64, tiles, channels, xStep int,
	offsets *int64, taps int, w *float32, wRow, wStep int, bias *float32, relu, fold int)

// tapKernels are kernels for tiles of one, two and three vectors.
type tapKernels struct {
	rows   int // of a tile
	any    [tapColumns]tapKernel
	folded [tapColumns]tapKernel // for folded vectors
	single [tapColumns]tapKernel // for one tap at 0: a product of matrices
	fewer  *tapKernels           // for fewer rows
}

var tapSets = [...]tapKernels{
	vec.AVX2: {
		rows:   TapRows / 2,
		any:    [tapColumns]tapKernel{taps4x1AVX2, taps4x2AVX2, taps4x3AVX2},
		folded: [tapColumns]tapKernel{folded4x1AVX2, folded4x2AVX2, folded4x3AVX2},
		single: [tapColumns]tapKernel{single4x1AVX2, single4x2AVX2, single4x3AVX2},
	},
	vec.AVX512: {
		rows:   TapRows,
		any:    [tapColumns]tapKernel{taps8x1AVX512, taps8x2AVX512, taps8x3AVX512},
		folded: [tapColumns]tapKernel{folded8x1AVX512, folded8x2AVX512, folded8x3AVX512},
		single: [tapColumns]tapKernel{single8x1AVX512, single8x2AVX512, single8x3AVX512},
	},
}

var tapPairs = tapKernels{
	rows:   TapRows,
	any:    [tapColumns]tapKernel{taps8x1BF16, taps8x2BF16, taps8x3BF16},
	folded: [tapColumns]tapKernel{folded8x1BF16, folded8x2BF16, folded8x3BF16},
	single: [tapColumns]tapKernel{single8x1BF16, single8x2BF16, single8x3BF16},
	fewer: &tapKernels{
		rows: 4, any: [tapColumns]tapKernel{taps4x1BF16, taps4x2BF16, taps4x3BF16},
		fewer: &tapKernels{
			rows: 2, any: [tapColumns]tapKernel{taps2x1BF16, taps2x2BF16, taps2x3BF16},
			fewer: &tapKernels{rows: 1, any: [tapColumns]tapKernel{taps1x1BF16, taps1x2BF16, taps1x3BF16}},
		},
	},
}

// Compute computes the sum for vectors of pixels.
func (t *TapSum) Compute(s vec.Set, p *Pixels) {
	if t.Half != nil || t.rows() != TapRows {
		panic("conv: sums of float32 have TapRows rows and are not rounded")
	}
	if s == vec.Go || t.empty(p) {
		t.sum(p, TapLanes(s), false)
		return
	}
	t.run(p, TapLanes(s), &tapSets[s])
}

// ComputePairs computes the sum of pairs, in x and w, for vectors of pixels.
func (t *TapSum) ComputePairs(pairs vec.Pairs, p *Pixels) {
	if pairs != vec.BF16 || t.empty(p) {
		t.sum(p, PairLanes, true)
		return
	}
	t.run(p, PairLanes, &tapPairs)
}

// run computes the sums with kernels for vectors of the given number of lanes.
func (t *TapSum) run(p *Pixels, lanes int, kernels *tapKernels) {
	t.check(p, lanes)
	taps, relu := len(t.Taps), 0
	if t.ReLU {
		relu = 1
	}
	if t.Half != nil {
		relu |= 2
	}
	x, offsets := &t.X[0], &t.Taps[0]
	rows := t.rows()
	for r := 0; r < rows; r += kernels.rows {
		for kernels.rows > rows-r {
			kernels = kernels.fewer
		}
		of := kernels.of(t)
		y, w := t.results(r*t.Pitch), &t.W[r*t.WRow]
		var bias *float32
		if t.Bias != nil {
			bias = &t.Bias[:rows][r]
		}
		tiles := p.tiles
		for columns := tapColumns; columns > 0; columns-- {
			n := p.columns[columns-1]
			if n == 0 {
				continue
			}
			of[columns-1](y, t.Pitch, x, &tiles[0], n, t.Channels, t.XStep, offsets, taps, w, t.WRow, t.WStep, bias,
				relu, t.Fold)
			tiles = tiles[2*columns*n:]
		}
	}
}

// of returns the kernels for a sum.
func (k *tapKernels) of(t *TapSum) *[tapColumns]tapKernel {
	switch {
	case k.single[0] == nil:
		return &k.any
	case t.Fold != 0:
		return &k.folded
	case len(t.Taps) == 1 && t.Taps[0] == 0:
		return &k.single
	}
	return &k.any
}

// results is the address of a result.
func (t *TapSum) results(at int) *float32 {
	if t.Half != nil {
		return (*float32)(unsafe.Pointer(&t.Half[at]))
	}
	return &t.Y[at]
}

// check panics if a vector or a weight lies outside its slice.
func (t *TapSum) check(p *Pixels, lanes int) {
	first, last := t.Taps[0], t.Taps[0]
	for _, tap := range t.Taps {
		first, last = min(first, tap), max(last, tap)
	}
	x := (t.Channels-1)*t.XStep + lanes - 1
	if t.Fold != 0 {
		x += t.Fold - lanes/2
	}
	_, _ = t.X[p.lastX+int(last)+x], t.X[p.firstAll+int(first)]
	rows := t.rows()
	if rows < TapRows && t.Fold != 0 {
		panic("conv: folded vectors need TapRows rows")
	}
	if t.Half != nil {
		_, _ = t.Half[p.lastY+(rows-1)*t.Pitch+lanes-1], t.Half[p.firstAll]
	} else {
		_, _ = t.Y[p.lastY+(rows-1)*t.Pitch+lanes-1], t.Y[p.firstAll]
	}
	_ = t.W[(rows-1)*t.WRow+(t.Channels-1)*t.WStep+len(t.Taps)-1]
}
