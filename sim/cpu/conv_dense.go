package cpu

// Convolutions between one pixel and a whole image are matrix products: w is a
// matrix of small rows and large·kh·kw columns, read once from memory.

// columnsPerTask is how many columns of the matrix a task takes at a time.
const columnsPerTask = 512

// denseScatter is large[n, j] = Σ small[n, s]·w[s, j] + bias[channel of j].
func (b *binder) denseScatter(g *geometry, large, small, w, bias []float32) func() {
	columns := g.large * g.taps()
	taps := g.taps()
	body := func(lo, hi int) {
		for n := range g.n {
			y, x := large[n*columns:][:columns], small[n*g.small:][:g.small]
			for from := lo; from < hi; from += columnsPerTask {
				to := min(from+columnsPerTask, hi)
				for j := from; j < to; j++ {
					y[j] = 0
					if bias != nil {
						y[j] = bias[j/taps]
					}
				}
				matrixRows(y[from:to], w[from:], columns, x)
			}
		}
	}
	return b.each(columns, 1+worthwhile/g.small, body)
}

// matrixRows is y[j] += Σ x[s]·w[s·pitch + j].
func matrixRows(y, w []float32, pitch int, x []float32) {
	n, s := len(y), 0
	for ; s+3 < len(x); s += 4 {
		axpy1x4(y, w[s*pitch:][:n], w[(s+1)*pitch:][:n], w[(s+2)*pitch:][:n], w[(s+3)*pitch:][:n],
			x[s], x[s+1], x[s+2], x[s+3])
	}
	for ; s < len(x); s++ {
		axpy(y, w[s*pitch:][:n], x[s])
	}
}

// denseGather is small[n, s] = Σ large[n, j]·w[s, j] + bias[s].
func (b *binder) denseGather(g *geometry, small, large, w, bias []float32) func() {
	columns := g.large * g.taps()
	body := func(lo, hi int) {
		for n := range g.n {
			x, y := large[n*columns:][:columns], small[n*g.small:][:g.small]
			for s := lo; s < hi; s += 4 {
				rowDots(y[s:min(s+4, hi)], w[s*columns:], x)
			}
			for s := lo; s < hi && bias != nil; s++ {
				y[s] += bias[s]
			}
		}
	}
	return b.each(g.small, 1+worthwhile/columns, body)
}

// rowDots is y[i] = Σ w[i·len(x) + j]·x[j] for up to four rows. Which rows share
// a call does not change their sums.
func rowDots(y, w, x []float32) {
	columns := len(x)
	var r [4]float32
	for from := 0; from < columns; from += columnsPerTask {
		n := min(columnsPerTask, columns-from)
		p := x[from:][:n]
		var rows [4][]float32
		for i := range rows {
			rows[i] = w[min(i, len(y)-1)*columns+from:][:n]
		}
		dot1x4(p, rows[0], rows[1], rows[2], rows[3], &r)
	}
	copy(y, r[:])
}

// denseWeight is gw[s, j] = Σ over images of small[n, s]·large[n, j].
func (b *binder) denseWeight(g *geometry, gw, small, large []float32) func() {
	columns := g.large * g.taps()
	body := func(lo, hi int) {
		for s := lo; s < hi; s++ {
			row := gw[s*columns:][:columns]
			scaleRow(row, large[:columns], small[s])
			for n := 1; n < g.n; n++ {
				axpy(row, large[n*columns:][:columns], small[n*g.small+s])
			}
		}
	}
	return b.each(g.small, 1+grain/columns, body)
}

// scaleRow is y[i] = w·x[i].
func scaleRow(y, x []float32, w float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] = w * x[i]
	}
}
