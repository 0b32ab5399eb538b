package cpu

// Convolutions between one pixel and a whole image are matrix products: w is a
// matrix of small rows and large·kh·kw columns, read once from memory.

const (
	// columnsPerTask is how many columns of the matrix a task takes at a time.
	columnsPerTask = 512
	// rowsPerTask is the same for rows. They are summed together, and how does
	// not depend on which thread has them.
	rowsPerTask = 4
)

// denseScatter is large[n, j] = Σ small[n, s]·w[s, j] + bias[channel of j].
func (b *binder) denseScatter(g *geometry, large, small, w, bias []float32) func() {
	columns := g.large * g.taps()
	taps := g.taps()
	set := b.backend.set
	rows, order := b.rowTables(g.small, columns)
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
				set.Tile(y[from:to], 0, 1, to-from, w[from:], rows, order, x, 0)
			}
		}
	}
	return b.each(columns, 1+worthwhile/g.small, body)
}

// rowTables are where the rows of a matrix begin, and their numbers.
func (b *binder) rowTables(rows, columns int) (begin, order []int32) {
	begin, order = make([]int32, rows), make([]int32, rows)
	for i := range begin {
		begin[i], order[i] = int32(i*columns), int32(i)
	}
	b.table(2*rows, 4)
	return begin, order
}

// denseGather is small[n, s] = Σ large[n, j]·w[s, j] + bias[s].
func (b *binder) denseGather(g *geometry, small, large, w, bias []float32) func() {
	columns := g.large * g.taps()
	set := b.backend.set
	rows, _ := b.rowTables(g.small, columns)
	body := func(lo, hi int) {
		lo, hi = lo*rowsPerTask, min(hi*rowsPerTask, g.small)
		for n := range g.n {
			x, y := large[n*columns:][:columns], small[n*g.small:][:g.small]
			clear(y[lo:hi])
			for s := lo; s < hi; s += rowsPerTask {
				end := min(s+rowsPerTask, hi)
				for from := 0; from < columns; from += columnsPerTask {
					count := min(columnsPerTask, columns-from)
					set.Dots(y[s:end], 0, 1, x[from:], 0, count, w[from:], rows[s:end])
				}
			}
			for s := lo; s < hi && bias != nil; s++ {
				y[s] += bias[s]
			}
		}
	}
	return b.each((g.small+rowsPerTask-1)/rowsPerTask, 1+worthwhile/(rowsPerTask*columns), body)
}

// denseWeight is gw[s, j] = Σ over images of small[n, s]·large[n, j].
func (b *binder) denseWeight(g *geometry, gw, small, large []float32) func() {
	columns := g.large * g.taps()
	set := b.backend.set
	body := func(lo, hi int) {
		for s := lo; s < hi; s++ {
			row := gw[s*columns:][:columns]
			set.Scale(row, large[:columns], small[s])
			for n := 1; n < g.n; n++ {
				set.Axpy(row, large[n*columns:][:columns], small[n*g.small+s])
			}
		}
	}
	return b.each(g.small, 1+grain/columns, body)
}
