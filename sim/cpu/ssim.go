package cpu

// SSIM's constants for a data range of 1 (spec/prism.md §5.5).
const (
	ssimC1 = 1e-4
	ssimC2 = 9e-4
)

// rowsPerBlock is how many rows of a plane share a few rows of scratch and are
// done by one thread.
const rowsPerBlock = 16

// ssimMap computes the SSIM map of two planes, or its contrast-structure part, as
// the mean over all pixels and the derivatives of each pixel's value by the
// prediction's blurred value, blurred square and blurred product with the target.
//
// With bars for blurred planes, σx² = x̄²−x̄·x̄ and so on,
//
//	SSIM = (2·p̄·t̄ + C1)(2·σpt + C2) / ((p̄² + t̄² + C1)(σp² + σt² + C2))
//
// and the contrast-structure part is the second factor over the fourth.
type ssimMap struct {
	h, w           int
	p, t           []float32
	mean           []float32 // ∂value/∂p̄ of each pixel
	square         []float32 // ∂value/∂(p²)‾
	product        []float32 // ∂value/∂(p·t)‾
	full           bool      // SSIM, else the contrast-structure part
	rows, columns  blur      // along a row, along the columns
	blurred        [5][]float32
	lines          []float32 // five rows for each block
	sums           []float64 // of each row's values
	blurAll, score func()
}

// newSSIMMap binds a map; derivatives go to maps, three planes of h×w.
func (b *binder) newSSIMMap(p, t, maps []float32, h, w int, full bool) *ssimMap {
	n := h * w
	m := &ssimMap{h: h, w: w, p: p, t: t, full: full,
		mean: maps[:n], square: maps[n : 2*n], product: maps[2*n : 3*n],
		rows: newBlur(b.backend.set, w, false), columns: newBlur(b.backend.set, h, false)}
	b.tables += m.rows.bytes() + m.columns.bytes()
	for i := range m.blurred {
		m.blurred[i] = b.floats(n)
	}
	blocks := (h + rowsPerBlock - 1) / rowsPerBlock
	m.lines, m.sums = b.floats(blocks*5*w), b.float64s(h)
	m.blurAll = b.each(blocks, 1, m.blurBlocks)
	m.score = b.each(blocks, 1, m.scoreBlocks)
	return m
}

// run computes the map and returns its mean.
func (m *ssimMap) run() float64 {
	m.blurAll()
	m.score()
	total := 0.0
	for _, s := range m.sums {
		total += s
	}
	return total / float64(m.h*m.w)
}

// line is scratch row i of a block.
func (m *ssimMap) line(block, i int) []float32 { return m.lines[(block*5+i)*m.w:][:m.w] }

// blurBlocks blurs p, t, p², t² and p·t along the rows of blocks [lo, hi).
func (m *ssimMap) blurBlocks(lo, hi int) {
	for block := lo; block < hi; block++ {
		squareP, squareT, product := m.line(block, 0), m.line(block, 1), m.line(block, 2)
		for i := block * rowsPerBlock; i < min((block+1)*rowsPerBlock, m.h); i++ {
			at := i * m.w
			p, t := m.p[at:][:m.w], m.t[at:][:m.w]
			productRows(squareP, squareT, product, p, t)
			for k, x := range [...][]float32{p, t, squareP, squareT, product} {
				m.rows.row(m.blurred[k][at:][:m.w], x)
			}
		}
	}
}

// productRows is pp[i] = p[i]², tt[i] = t[i]², pt[i] = p[i]·t[i].
func productRows(pp, tt, pt, p, t []float32) {
	n := len(p)
	pp, tt, pt, t = pp[:n], tt[:n], pt[:n], t[:n]
	for i, u := range p {
		v := t[i]
		pp[i], tt[i], pt[i] = u*u, v*v, u*v
	}
}

// scoreBlocks blurs along the columns and turns each pixel's five values into its
// value and derivatives, for the rows of blocks [lo, hi).
func (m *ssimMap) scoreBlocks(lo, hi int) {
	for block := lo; block < hi; block++ {
		for i := block * rowsPerBlock; i < min((block+1)*rowsPerBlock, m.h); i++ {
			for k := range m.blurred {
				m.columns.column(m.line(block, k), m.blurred[k], i)
			}
			at := i * m.w
			var in [5][]float32
			for k := range in {
				in[k] = m.line(block, k)
			}
			mean, square, product := m.mean[at:][:m.w], m.square[at:][:m.w], m.product[at:][:m.w]
			if m.full {
				m.sums[i] = ssimRow(mean, square, product, &in)
			} else {
				m.sums[i] = contrastRow(mean, square, product, &in)
			}
		}
	}
}

// ssimRow is the sum of a row's SSIM values. in holds blurred p, t, p², t², p·t.
//
//	A1 = 2p̄t̄+C1, A2 = 2σpt+C2, B1 = p̄²+t̄²+C1, B2 = σp²+σt²+C2, S = A1·A2/(B1·B2)
//	∂S/∂pt‾ = 2·A1/(B1·B2);  ∂S/∂p²‾ = −S/B2
//	∂S/∂p̄ = 2t̄·(A2−A1)/(B1·B2) + 2p̄·S·(1/B2 − 1/B1)
func ssimRow(mean, square, product []float32, in *[5][]float32) float64 {
	n := len(mean)
	square, product = square[:n], product[:n]
	pr, tr, ppr, ttr, ptr := in[0][:n], in[1][:n], in[2][:n], in[3][:n], in[4][:n]
	total := 0.0
	for i := range mean {
		p, t := float64(pr[i]), float64(tr[i])
		a1, b1 := 2*p*t+ssimC1, p*p+t*t+ssimC1
		a2, b2 := 2*(float64(ptr[i])-p*t)+ssimC2, float64(ppr[i])+float64(ttr[i])-p*p-t*t+ssimC2
		inverse1, inverse2 := 1/b1, 1/b2
		s := a1 * a2 * inverse1 * inverse2
		total += s
		mean[i] = float32(2*t*(a2-a1)*inverse1*inverse2 + 2*p*s*(inverse2-inverse1))
		square[i] = float32(-s * inverse2)
		product[i] = float32(2 * a1 * inverse1 * inverse2)
	}
	return total
}

// contrastRow is ssimRow for the contrast-structure part CS = A2/B2:
//
//	∂CS/∂pt‾ = 2/B2;  ∂CS/∂p²‾ = −CS/B2;  ∂CS/∂p̄ = 2·(p̄·CS − t̄)/B2
func contrastRow(mean, square, product []float32, in *[5][]float32) float64 {
	n := len(mean)
	square, product = square[:n], product[:n]
	pr, tr, ppr, ttr, ptr := in[0][:n], in[1][:n], in[2][:n], in[3][:n], in[4][:n]
	total := 0.0
	for i := range mean {
		p, t := float64(pr[i]), float64(tr[i])
		a2, b2 := 2*(float64(ptr[i])-p*t)+ssimC2, float64(ppr[i])+float64(ttr[i])-p*p-t*t+ssimC2
		inverse := 1 / b2
		cs := a2 * inverse
		total += cs
		mean[i] = float32(2 * (p*cs - t) * inverse)
		square[i] = float32(-cs * inverse)
		product[i] = float32(2 * inverse)
	}
	return total
}

// ssimAdjoint turns a map's derivatives into a plane's gradient:
//
//	gp = factor·(Gᵀmean + 2p·Gᵀsquare + t·Gᵀproduct)
//
// with Gᵀ the adjoint of the blur with its reflected border.
type ssimAdjoint struct {
	h, w          int
	gp, p, t      []float32
	maps          [3][]float32
	rows, columns blur
	blurred       [3][]float32
	lines         []float32 // four rows for each block
	factor        float32
	coarse        []float32 // gradient of the plane pooled from this one, or nil
	first, second func()
}

func (b *binder) newSSIMAdjoint(gp, p, t, maps []float32, h, w int) *ssimAdjoint {
	n := h * w
	a := &ssimAdjoint{h: h, w: w, gp: gp, p: p, t: t,
		rows: newBlur(b.backend.set, w, true), columns: newBlur(b.backend.set, h, true)}
	b.tables += a.rows.bytes() + a.columns.bytes()
	for i := range a.maps {
		a.maps[i], a.blurred[i] = maps[i*n:][:n], b.floats(n)
	}
	blocks := (h + rowsPerBlock - 1) / rowsPerBlock
	a.lines = b.floats(blocks * 3 * w)
	a.first = b.each(h, 1+grain/w, a.blurRows)
	a.second = b.each(blocks, 1, a.finishBlocks)
	return a
}

// run computes gp for a factor.
func (a *ssimAdjoint) run(factor float32) {
	a.factor = factor
	a.first()
	a.second()
}

func (a *ssimAdjoint) blurRows(lo, hi int) {
	for i := lo; i < hi; i++ {
		for k := range a.maps {
			a.rows.row(a.blurred[k][i*a.w:][:a.w], a.maps[k][i*a.w:][:a.w])
		}
	}
}

func (a *ssimAdjoint) finishBlocks(lo, hi int) {
	for block := lo; block < hi; block++ {
		var in [3][]float32
		for k := range in {
			in[k] = a.lines[(block*3+k)*a.w:][:a.w]
		}
		for i := block * rowsPerBlock; i < min((block+1)*rowsPerBlock, a.h); i++ {
			for k := range in {
				a.columns.column(in[k], a.blurred[k], i)
			}
			at := i * a.w
			gp := a.gp[at:][:a.w]
			combineRow(gp, a.p[at:][:a.w], a.t[at:][:a.w], &in, a.factor)
			if a.coarse != nil && i/2 < a.h/2 {
				unpoolRow(gp, a.coarse[i/2*(a.w/2):][:a.w/2])
			}
		}
	}
}

// combineRow is gp[i] = factor·(in0[i] + 2·p[i]·in1[i] + t[i]·in2[i]).
func combineRow(gp, p, t []float32, in *[3][]float32, factor float32) {
	n := len(gp)
	p, t = p[:n], t[:n]
	m, s, q := in[0][:n], in[1][:n], in[2][:n]
	for i := range gp {
		gp[i] = factor * (m[i] + 2*p[i]*s[i] + t[i]*q[i])
	}
}

// ssimLoss is (1 − SSIM)/2; it saves the three derivative maps.
func (b *binder) ssimLoss(value, saved, p, t []float32, h, w int) func() {
	m := b.newSSIMMap(p, t, saved, h, w, true)
	return func() { value[0] = float32((1 - m.run()) / 2) }
}

func (b *binder) ssimGrad(gp, p, t, saved, upstream []float32, h, w int) func() {
	a := b.newSSIMAdjoint(gp, p, t, saved, h, w)
	return func() { a.run(float32(-float64(upstream[0]) / (2 * float64(h*w)))) }
}
