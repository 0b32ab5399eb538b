package cpu

// Convolutions between one pixel and a whole image are matrix products: w is a
// matrix of small rows and large·kh·kw columns. They are bound by memory, from
// which w is read once.

const (
	// columnGrain is the minimum number of matrix columns per thread: a page of
	// each row, within which the processor prefetches.
	columnGrain = 1024
	// rowsPerTask is the number of rows per task: those multiplied side by side.
	rowsPerTask = 4
)

// denseScatter computes large[n, j] = Σ small[n, s]·w[s, j] + bias[channel of j].
func (b *binder) denseScatter(g *geometry, large, small, w, bias []float32) func() {
	columns := g.large * g.taps()
	taps := g.taps()
	set := b.backend.set
	body := func(lo, hi int) {
		for n := range g.n {
			y := large[n*columns+lo : n*columns+hi]
			clear(y)
			if bias != nil {
				for j := range y {
					y[j] = bias[(lo+j)/taps]
				}
			}
			set.Combine(y, w[lo:], columns, small[n*g.small:][:g.small])
		}
	}
	pool := b.backend.pool
	return func() { pool.ForPieces(columns, columnGrain, 2*columnGrain, body) }
}

// denseGather computes small[n, s] = Σ large[n, j]·w[s, j] + bias[s].
func (b *binder) denseGather(g *geometry, small, large, w, bias []float32) func() {
	columns := g.large * g.taps()
	set := b.backend.set
	body := func(lo, hi int) {
		lo, hi = lo*rowsPerTask, min(hi*rowsPerTask, g.small)
		for n := range g.n {
			y := small[n*g.small+lo : n*g.small+hi]
			set.Products(y, w[lo*columns:], columns, large[n*columns:][:columns])
			for s := range y {
				if bias != nil {
					y[s] += bias[lo+s]
				}
			}
		}
	}
	return b.tasks((g.small+rowsPerTask-1)/rowsPerTask, rowsPerTask*columns, body)
}

// denseWeight computes gw[s, j] = Σ over images of small[n, s]·large[n, j].
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
	return b.rows(g.small, columns, body)
}
