//go:build !noasm

package vec

// TapLanes is the number of pixels of a vector.
func (s Set) TapLanes() int { return [...]int{Go: 16, AVX2: 8, AVX512: 16}[s] }

// tapKernels are the kernels for tiles of one, two and three vectors.
var tapKernels = [...][tapColumns]func(y *float32, pitch int, x *float32, at *int64, tiles, channels, xStep int,
	offsets *int64, taps int, w *float32, wRow, wStep int, bias *float32, relu, fold int){
	AVX2:   {taps4x1AVX2, taps4x2AVX2, taps4x3AVX2},
	AVX512: {taps8x1AVX512, taps8x2AVX512, taps8x3AVX512},
}

// foldedKernels are those for folded vectors.
var foldedKernels = [...][tapColumns]func(y *float32, pitch int, x *float32, at *int64, tiles, channels, xStep int,
	offsets *int64, taps int, w *float32, wRow, wStep int, bias *float32, relu, fold int){
	AVX2:   {folded4x1AVX2, folded4x2AVX2, folded4x3AVX2},
	AVX512: {folded8x1AVX512, folded8x2AVX512, folded8x3AVX512},
}

// singleKernels are those for one tap at 0: a product of matrices.
var singleKernels = [...][tapColumns]func(y *float32, pitch int, x *float32, at *int64, tiles, channels, xStep int,
	offsets *int64, taps int, w *float32, wRow, wStep int, bias *float32, relu, fold int){
	AVX2:   {single4x1AVX2, single4x2AVX2, single4x3AVX2},
	AVX512: {single8x1AVX512, single8x2AVX512, single8x3AVX512},
}

// TapSum computes a TapSum for vectors of pixels.
func (s Set) TapSum(t *TapSum, p *Pixels) {
	if s == Go || len(p.tiles) == 0 || t.Channels <= 0 || len(t.Taps) == 0 {
		t.sum(p, s.TapLanes())
		return
	}
	t.check(p, s.TapLanes())
	rows := TapRows
	if s == AVX2 {
		rows = TapRows / 2
	}
	taps, relu := len(t.Taps), 0
	if t.ReLU {
		relu = 1
	}
	x, offsets := &t.X[0], &t.Taps[0]
	for r := 0; r < TapRows; r += rows {
		y, w := &t.Y[r*t.Pitch], &t.W[r*t.WRow]
		var bias *float32
		if t.Bias != nil {
			bias = &t.Bias[:TapRows][r]
		}
		tiles := p.tiles
		for columns := tapColumns; columns > 0; columns-- {
			n := p.columns[columns-1]
			if n == 0 {
				continue
			}
			kernel := tapKernels[s][columns-1]
			switch {
			case t.Fold != 0:
				kernel = foldedKernels[s][columns-1]
			case taps == 1 && t.Taps[0] == 0:
				kernel = singleKernels[s][columns-1]
			}
			kernel(y, t.Pitch, x, &tiles[0], n, t.Channels, t.XStep, offsets, taps, w, t.WRow, t.WStep, bias, relu, t.Fold)
			tiles = tiles[2*columns*n:]
		}
	}
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
	_, _ = t.Y[p.lastY+(TapRows-1)*t.Pitch+lanes-1], t.Y[p.firstAll]
	_ = t.W[(TapRows-1)*t.WRow+(t.Channels-1)*t.WStep+len(t.Taps)-1]
}
