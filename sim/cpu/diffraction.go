package cpu

import (
	"math"

	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Diffraction patterns: fields from amplitude and phase, patches and their sums, probes,
// intensities, and the loss of counts.

// ptychography binds the operators of diffraction patterns: patches, probes, intensities, and the loss of counts.
type ptychography struct {
	*binder
}

func (b *ptychography) bind(op nn.Op) (run func(), ok bool) {
	switch op := op.(type) {
	case nn.Polar:
		return b.polar(), true
	case nn.PolarGrad:
		return b.polarGrad(), true
	case nn.SumPatches:
		return b.sumPatches(), true
	case nn.ExtractPatches:
		return b.extractPatches(), true
	case nn.DivideByCoverage:
		return b.divideByCoverage(op), true
	case nn.ProbeMultiply:
		return b.probeMultiply(op.Conjugate), true
	case nn.Intensity:
		return b.intensity(), true
	case nn.IntensityGrad:
		return b.intensityGrad(), true
	case nn.ExpScale:
		return b.expScale(op.Power), true
	case nn.ExpScaleGrad:
		return b.expScaleGrad(op.Power), true
	case nn.PoissonLoss:
		return b.poissonLoss(op.Epsilon), true
	case nn.PoissonLossGrad:
		return b.poissonLossGrad(op.Epsilon), true
	}
	return nil, false
}

// polar computes z = a·(cos φ + i·sin φ).
func (b *ptychography) polar() func() {
	a, phase, z, set := b.in(0), b.in(1), b.outComplex(0), b.backend.set
	return b.each(len(a), grain/4, func(lo, hi int) { elements.Polar(set, z[lo:hi], a[lo:hi], phase[lo:hi]) })
}

// polarGrad computes ga = Re gz·cos φ + Im gz·sin φ and gφ = a·(Im gz·cos φ −
// Re gz·sin φ).
func (b *ptychography) polarGrad() func() {
	a, phase, gz, ga, gphase := b.in(0), b.in(1), b.inComplex(2), b.out(0), b.out(1)
	return b.each(len(a), grain/4, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sin, cos := math.Sincos(float64(phase[i]))
			re, im := float64(real(gz[i])), float64(imag(gz[i]))
			ga[i] = float32(re*cos + im*sin)
			gphase[i] = float32(float64(a[i]) * (im*cos - re*sin))
		}
	})
}

// patches are the operands of a translation between the patches of groups and their
// canvases.
type patches struct {
	groups, channels int
	patch, canvas    int // sides
	offsets          []float32
}

// patchOperands returns the operands of patches and canvases; the offsets are the second input.
func (b *ptychography) patchOperands(patch, canvas tensor.Shape) patches {
	return patches{groups: patch[0], channels: patch[1], patch: patch[2], canvas: canvas[2], offsets: b.in(1)}
}

// offset returns the offset of channel c of a group.
func (p *patches) offset(group, c int) (x, y float32) {
	at := 2 * (group*p.channels + c)
	return p.offsets[at], p.offsets[at+1]
}

// shift is a translation along one axis: y[i] = (1−part)·x[i−whole] + part·x[i−whole−1].
type shift struct {
	whole int
	part  float32
}

// farthest bounds shifts, so that sums of indices and shifts that no image contains do
// not overflow.
const farthest = 1 << 20

func shiftOf(by float32) shift {
	whole := math.Floor(float64(by))
	if !(math.Abs(whole) < farthest) {
		return shift{whole: farthest}
	}
	return shift{int(whole), float32(float64(by) - whole)}
}

// addTranslated adds row i of a plane of from×from pixels, translated by (x, y), to a
// row of a plane of len(dst)/2 pixels with the same centre. Both are rows of alternating
// real and imaginary parts.
func (b *Backend) addTranslated(dst, src []float32, from, i int, x, y float32) {
	to := len(dst) / 2
	margin := (to - from) / 2
	rows, columns := shiftOf(y), shiftOf(x)
	for down, rowWeight := range [2]float32{1 - rows.part, rows.part} {
		row := i - margin - rows.whole - down
		if rowWeight == 0 || row < 0 || row >= from {
			continue
		}
		line := src[2*row*from:][:2*from]
		for right, weight := range [2]float32{1 - columns.part, columns.part} {
			if weight *= rowWeight; weight == 0 {
				continue
			}
			start := margin + columns.whole + right // of the line in dst
			lo, hi := max(start, 0), min(start+from, to)
			if lo < hi {
				elements.Axpy(b.set, dst[2*lo:2*hi], line[2*(lo-start):2*(hi-start)], weight)
			}
		}
	}
}

// sumPatches computes canvas[g] = Σ over c of patch[g, c] translated by −offset.
func (b *ptychography) sumPatches() func() {
	z, canvas := b.inComplex(0), b.outComplex(0)
	p := b.patchOperands(b.inShape(0), b.outShape(0))
	from, to, backend := parts(z), parts(canvas), b.backend
	plane := 2 * p.patch * p.patch
	return b.rows(p.groups*p.canvas, 8*p.channels*p.canvas, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			group, i := row/p.canvas, row%p.canvas
			line := to[2*row*p.canvas:][:2*p.canvas]
			clear(line)
			for c := range p.channels {
				x, y := p.offset(group, c)
				backend.addTranslated(line, from[(group*p.channels+c)*plane:][:plane], p.patch, i, -x, -y)
			}
		}
	})
}

// extractPatches computes patch[g, c] = canvas[g] translated by the offset.
func (b *ptychography) extractPatches() func() {
	canvas, z := b.inComplex(0), b.outComplex(0)
	p := b.patchOperands(b.outShape(0), b.inShape(0))
	from, to, backend := parts(canvas), parts(z), b.backend
	plane := 2 * p.canvas * p.canvas
	return b.rows(p.groups*p.channels*p.patch, 8*p.patch, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			at, i := row/p.patch, row%p.patch
			line := to[2*row*p.patch:][:2*p.patch]
			clear(line)
			x, y := p.offset(at/p.channels, at%p.channels)
			backend.addTranslated(line, from[at/p.channels*plane:][:plane], p.canvas, i, x, y)
		}
	})
}

// divideByCoverage computes y = z/(Σ over c of cover(row)·cover(column) + epsilon): the
// square that a patch covers is a product of intervals, and so is its translation.
func (b *ptychography) divideByCoverage(op nn.DivideByCoverage) func() {
	s, offsets := b.inShape(0), b.inShape(1)
	side := s[2]
	z, y := b.inComplex(0), b.outComplex(0)
	p := patches{groups: s[0], channels: offsets[1], canvas: side, offsets: b.in(1)}
	return b.shared(p.groups*side, side, 4*p.channels*side, func(scratch []float32, lo, hi int) {
		total := scratch[:side]
		for row := lo; row < hi; row++ {
			for j := range total {
				total[j] = op.Epsilon
			}
			for c := range p.channels {
				p.addCover(total, row/side, c, row%side, op.Support)
			}
			for j, v := range z[row*side:][:side] {
				y[row*side+j] = complex(real(v)/total[j], imag(v)/total[j])
			}
		}
	})
}

// addCover adds the coverage of row i of a group's canvas by channel c, whose central support
// covers.
func (p *patches) addCover(total []float32, group, c, i, support int) {
	x, y := p.offset(group, c)
	row, column := cover(i, p.canvas, support, shiftOf(-y)), shiftOf(-x)
	if row == 0 {
		return
	}
	for j := range total {
		total[j] += row * cover(j, p.canvas, support, column)
	}
}

// cover is the value at i of the translated indicator of the central support of side
// pixels.
func cover(i, side, support int, by shift) float32 {
	first := (side - support) / 2
	inside := func(k int) bool { return k >= first && k < first+support }
	var v float32
	if inside(i - by.whole) {
		v = 1 - by.part
	}
	if inside(i - by.whole - 1) {
		v += by.part
	}
	return v
}

// probeMultiply computes y = z·probe for each plane, or z times its conjugate.
func (b *ptychography) probeMultiply(conjugate bool) func() {
	n, h, w := planes(b.inShape(0))
	z, probe, y := b.inComplex(0), b.in(1), b.outComplex(0)
	sign := float32(1)
	if conjugate {
		sign = -1
	}
	return b.rows(n*h, 3*w, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			re, im := probe[row%h*w:][:w], probe[(h+row%h)*w:][:w]
			from, to := z[row*w:][:w], y[row*w:][:w]
			for i, v := range from {
				pr, pi := re[i], sign*im[i]
				to[i] = complex(real(v)*pr-imag(v)*pi, real(v)*pi+imag(v)*pr)
			}
		}
	})
}

// intensity computes y = re² + im².
func (b *ptychography) intensity() func() {
	z, y := b.inComplex(0), b.out(0)
	return b.each(len(y), grain, func(lo, hi int) {
		for i, v := range z[lo:hi] {
			y[lo+i] = real(v)*real(v) + imag(v)*imag(v)
		}
	})
}

// intensityGrad computes gz = 2·gy·z.
func (b *ptychography) intensityGrad() func() {
	z, gy, gz := b.inComplex(0), b.in(1), b.outComplex(0)
	return b.each(len(gy), grain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			gz[i] = complex(2*gy[i]*real(z[i]), 2*gy[i]*imag(z[i]))
		}
	})
}

// expScale computes y = x·e^(power·s).
func (b *ptychography) expScale(power float32) func() {
	x, s, y, set := b.in(0), b.in(1), b.out(0), b.backend.set
	factor := float32(0)
	scale := b.each(len(x), grain, func(lo, hi int) { elements.Scale(set, y[lo:hi], x[lo:hi], factor) })
	return func() {
		factor = float32(math.Exp(float64(power) * float64(s[0])))
		scale()
	}
}

// expScaleGrad computes power·Σ y·gy.
func (b *ptychography) expScaleGrad(power float32) func() {
	y, gy, gs := b.in(0), b.in(1), b.out(0)
	total := b.total(len(y), func(i int) float64 { return float64(y[i]) * float64(gy[i]) })
	return func() { gs[0] = float32(float64(power) * total()) }
}

// total returns a closure that sums term over [0, n), in blocks that do not depend on
// the number of threads.
func (b *ptychography) total(n int, term func(i int) float64) func() float64 {
	sums := b.float64s((n + sumBlock - 1) / sumBlock)
	run := b.each(len(sums), 1, func(lo, hi int) {
		for block := lo; block < hi; block++ {
			s := 0.0
			for i := block * sumBlock; i < min((block+1)*sumBlock, n); i++ {
				s += term(i)
			}
			sums[block] = s
		}
	})
	return func() float64 {
		run()
		s := 0.0
		for _, v := range sums {
			s += v
		}
		return s
	}
}

// poissonLoss computes the mean of p − t·ln(p + epsilon).
func (b *ptychography) poissonLoss(epsilon float32) func() {
	p, t, loss := b.in(0), b.in(1), b.out(0)
	total := b.total(len(p), func(i int) float64 {
		return float64(p[i]) - float64(t[i])*math.Log(float64(p[i])+float64(epsilon))
	})
	return func() { loss[0] = float32(total() / float64(len(p))) }
}

// poissonLossGrad computes gp = g/n·(1 − t/(p + epsilon)).
func (b *ptychography) poissonLossGrad(epsilon float32) func() {
	p, t, g, gp := b.in(0), b.in(1), b.in(2), b.out(0)
	return b.each(len(p), grain, func(lo, hi int) {
		factor := float64(g[0]) / float64(len(p))
		for i := lo; i < hi; i++ {
			gp[i] = float32(factor * (1 - float64(t[i])/(float64(p[i])+float64(epsilon))))
		}
	})
}
