package cpu

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/vec/loss"
)

// The map of SSIM, its adjoint, and the loss (1 − SSIM)/2.

// scoreColumns is the number of columns summed in float32.
const scoreColumns = 64

// ssimMap computes the mean over all pixels of the SSIM map of two planes, or of
// its contrast-structure part, and prepares the gradient. With bars denoting
// blurred planes, σp² = (p²)‾ − p̄·p̄ and so on,
//
//	SSIM = (2·p̄·t̄ + C1)(2·σpt + C2) / ((p̄² + t̄² + C1)(σp² + σt² + C2))
//
// and the contrast-structure part is the second factor over the fourth. It works
// strip by strip: four moments are blurred along the columns, transposed, blurred
// along the rows and turned into each pixel's derivatives with respect to p̄, p²‾
// and pt‾. Their adjoint blur starts with the rows while they are in cache, so
// the maps, three planes in tiles, still lack the blur along the columns.
//
// The blur A reflects at the borders. An inner pixel counts once more per
// reflection, a border pixel does not; hence A = B·D with B symmetric and D
// halving the border, and the adjoint is Aᵀ = D·A·D⁻¹: the same kernel, with the
// borders doubled before it and halved after it.
type ssimMap struct {
	tiling
	set    vec.Set
	p, t   []float32
	maps   []float32
	full   bool // full SSIM, else the contrast-structure part
	window loss.Window
	sums   []float64 // of 1 − value, per strip
	strips func()
}

func (b *losses) newSSIMMap(p, t, maps []float32, h, w int, full bool) *ssimMap {
	m := &ssimMap{tiling: newTiling(h, w), set: b.backend.set, p: p, t: t, maps: maps, full: full,
		window: loss.SSIMWindow()}
	m.sums = b.float64s(m.tiling.strips)
	m.strips = b.eachStrip(m.tiling, 6*reach*side+7*m.column(), m.strip)
	return m
}

// run computes the map and returns its mean.
func (m *ssimMap) run() float64 {
	m.strips()
	total := 0.0
	for _, s := range m.sums {
		total += s
	}
	return 1 - total/float64(m.h*m.w)
}

// strip computes one strip.
func (m *ssimMap) strip(strip int, work []float32) {
	column := m.column()
	moments, work := work[:4*column], work[4*column:]
	derivatives, work := work[:3*column], work[3*column:]
	m.blurMoments(strip, moments, work)
	m.sums[strip] = m.score(strip, derivatives, moments)
	m.doubleBorder(strip, derivatives)
	for k := range 3 {
		m.mirror(derivatives[k*column:][:column])
	}
	for tile := range m.tiles {
		loss.BlurTurn(m.set, m.maps[m.at(strip, tile):], m.plane(), derivatives[tile*tileSize:], column, 3, &m.window)
	}
}

// blurMoments blurs p, t, (p − t)² and p·t along the columns into a strip.
func (m *ssimMap) blurMoments(strip int, moments, work []float32) {
	column := m.column()
	products, edge := work[:4*reach*side], work[4*reach*side:]
	sources := m.sources(strip)
	offsets := sources
	for i := range offsets {
		offsets[i] *= int32(m.w)
	}
	for tile := range m.tiles {
		p, t, rows := m.p[tile*side:], m.t[tile*side:], &offsets
		if n := m.columns(tile); n < side {
			p, t, rows = edge[:reach*side], edge[reach*side:], &denseRows
			for i, row := range offsets {
				copy(p[i*side:][:n], m.p[int(row)+tile*side:])
				copy(t[i*side:][:n], m.t[int(row)+tile*side:])
			}
		}
		loss.SSIMProducts(m.set, products, p, t, rows)
		loss.BlurTurn(m.set, moments[ssimPad*side+tile*tileSize:], column, products, reach*side, 4, &m.window)
	}
	for k := range 4 {
		m.mirror(moments[k*column:][:column])
	}
}

// denseRows are the rows of a tile.
var denseRows = func() (rows [reach]int32) {
	for i := range rows {
		rows[i] = int32(i * side)
	}
	return rows
}()

// score blurs the moments along the rows and turns them into derivatives. It
// returns the sum of 1 − value.
func (m *ssimMap) score(strip int, derivatives, moments []float32) float64 {
	column, total := m.column(), 0.0
	for j := 0; j < m.w; j += scoreColumns {
		var sums [side]float32
		to, from, n := derivatives[(ssimPad+j)*side:], moments[j*side:], min(scoreColumns, m.w-j)
		if m.full {
			loss.SSIMScore(m.set, to, column, from, column, n, &m.window, &sums)
		} else {
			loss.ContrastScore(m.set, to, column, from, column, n, &m.window, &sums)
		}
		for _, v := range sums[:m.rows(strip)] {
			total += float64(v)
		}
	}
	return total / 2 // the kernel's are doubled
}

// doubleBorder doubles the derivatives of the plane's border.
func (m *ssimMap) doubleBorder(strip int, derivatives []float32) {
	for k := range 3 {
		columns := derivatives[k*m.column()+ssimPad*side:][:m.w*side]
		for _, j := range [...]int{0, m.w - 1} {
			for i := range side {
				columns[j*side+i] *= 2
			}
		}
		for _, row := range [...]int{0, m.h - 1} {
			if row/side == strip {
				for i := row % side; i < len(columns); i += side {
					columns[i] *= 2
				}
			}
		}
	}
}

// ssimAdjoint turns a map's derivatives into a plane's gradient:
//
//	gp = factor·(Aᵀmean + 2p·Aᵀsquare + t·Aᵀproduct)
type ssimAdjoint struct {
	tiling
	set      vec.Set
	gp, p, t []float32
	maps     []float32 // twice the derivative for the square
	window   loss.Window
	factor   float32
	coarse   []float32 // gradient of the plane pooled from this one; nil if there is none
	strips   func()
}

func (b *losses) newSSIMAdjoint(gp, p, t, maps []float32, h, w int) *ssimAdjoint {
	a := &ssimAdjoint{tiling: newTiling(h, w), set: b.backend.set, gp: gp, p: p, t: t, maps: maps,
		window: loss.SSIMWindow()}
	a.strips = b.eachStrip(a.tiling, 3*reach*side+3*tileSize, a.strip)
	return a
}

// run computes gp with a factor.
func (a *ssimAdjoint) run(factor float32) {
	a.factor = factor
	a.strips()
}

// strip computes 16 rows of the gradient.
func (a *ssimAdjoint) strip(strip int, work []float32) {
	first, rows := strip*side, a.rows(strip)
	inner := first >= ssimPad && first+side+ssimPad <= a.h
	sources := a.sources(strip)
	for tile := range a.tiles {
		maps, step := work[:3*reach*side], reach*side
		if inner {
			maps, step = a.maps[a.at(strip, tile)-ssimPad*side:], a.plane()
		} else {
			a.gather(maps, tile, &sources)
		}
		if rows == side && a.columns(tile) == side {
			at := first*a.w + tile*side
			loss.BlurCombine(a.set, a.gp[at:], a.w, a.p[at:], a.t[at:], maps, step, &a.window, a.factor)
		} else {
			a.partial(strip, tile, maps, step, work[3*reach*side:])
		}
	}
	a.finish(first, rows)
}

// gather copies the rows from which a tile is blurred.
func (a *ssimAdjoint) gather(maps []float32, tile int, sources *[reach]int32) {
	for k := range 3 {
		from, to := a.maps[k*a.plane()+a.at(0, tile):], maps[k*reach*side:]
		for i, row := range sources {
			copy(to[i*side:][:side], from[int(row)*side:])
		}
	}
}

// partial computes a tile that reaches beyond the plane.
func (a *ssimAdjoint) partial(strip, tile int, maps []float32, step int, work []float32) {
	gp, p, t := work[:tileSize], work[tileSize:2*tileSize], work[2*tileSize:]
	rows, columns := a.rows(strip), a.columns(tile)
	at := strip*side*a.w + tile*side
	for i := range rows {
		copy(p[i*side:][:columns], a.p[at+i*a.w:])
		copy(t[i*side:][:columns], a.t[at+i*a.w:])
	}
	loss.BlurCombine(a.set, gp, side, p, t, maps, step, &a.window, a.factor)
	for i := range rows {
		copy(a.gp[at+i*a.w:], gp[i*side:][:columns])
	}
}

// finish halves the plane's border and adds the coarser plane's gradient, for rows
// from first on.
func (a *ssimAdjoint) finish(first, rows int) {
	for i := first; i < first+rows; i++ {
		gp := a.gp[i*a.w:][:a.w]
		gp[0] *= 0.5
		gp[a.w-1] *= 0.5
		if i == 0 || i == a.h-1 {
			elements.Scale(a.set, gp, gp, 0.5)
		}
		if a.coarse != nil && i/2 < a.h/2 {
			unpoolRow(gp, a.coarse[i/2*(a.w/2):][:a.w/2])
		}
	}
}

// ssimLoss computes (1 − SSIM)/2 and saves the derivatives.
func (b *losses) ssimLoss(value, saved, p, t []float32, h, w int) func() {
	m := b.newSSIMMap(p, t, saved, h, w, true)
	return func() { value[0] = float32((1 - m.run()) / 2) }
}

func (b *losses) ssimGrad(gp, p, t, saved, upstream []float32, h, w int) func() {
	a := b.newSSIMAdjoint(gp, p, t, saved, h, w)
	return func() { a.run(float32(-float64(upstream[0]) / (2 * float64(h*w)))) }
}
