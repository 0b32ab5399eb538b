package cpu

import (
	"math"

	"prismtop/sim/cpu/vec/loss"
	"prismtop/sim/nn"
)

// The losses of pictures and volumes and their gradients: pointwise ones, MS-SSIM, Dice with cross-entropy, and squared
// errors. The map of SSIM is in ssim.go.

// losses binds the losses of pictures and volumes, and their gradients.
type losses struct {
	*binder
}

func (b *losses) bind(op nn.Op) (run func(), ok bool) {
	switch op := op.(type) {
	case nn.Loss:
		return b.loss(op), true
	case nn.LossGrad:
		return b.lossGrad(op), true
	case nn.DiceBCE:
		return b.diceBCE(op.Smooth), true
	case nn.DiceBCEGrad:
		return b.diceBCEGrad(), true
	case nn.SquaredError:
		return b.squaredError(), true
	case nn.SquaredErrorGrad:
		return b.squaredErrorGrad(), true
	}
	return nil, false
}

const (
	// lossEpsilon is added to the divisor of a normalised loss (spec/prism.md
	// §5.5).
	lossEpsilon = 1e-8
	// sumBlock is the number of elements of a partial sum. It is fixed, so that
	// results do not depend on the number of threads.
	sumBlock = 4096
)

// loss binds a loss between two planes.
func (b *losses) loss(op nn.Loss) func() {
	h, w := b.inShape(0).Plane()
	p, t := b.in(0), b.in(1)
	value, saved := b.out(0), b.out(1)
	switch op.Kind {
	case nn.L1, nn.L2:
		return b.pointwiseLoss(op, value, saved, p, t)
	case nn.SSIM:
		return b.ssimLoss(value, saved, p, t, h, w)
	default:
		return b.msssimLoss(value, saved, p, t, h, w)
	}
}

// lossGrad binds upstream·∂loss/∂prediction.
func (b *losses) lossGrad(op nn.LossGrad) func() {
	h, w := b.inShape(0).Plane()
	p, t, saved, upstream, gp := b.in(0), b.in(1), b.in(2), b.in(3), b.out(0)
	set := b.backend.set
	switch op.Kind {
	case nn.L1:
		return b.each(len(gp), grain, func(lo, hi int) {
			loss.Signs(set, gp[lo:hi], p[lo:hi], t[lo:hi], saved[0]*upstream[0])
		})
	case nn.L2:
		return b.each(len(gp), grain, func(lo, hi int) {
			loss.Differences(set, gp[lo:hi], p[lo:hi], t[lo:hi], saved[0]*upstream[0])
		})
	case nn.SSIM:
		return b.ssimGrad(gp, p, t, saved, upstream, h, w)
	default:
		return b.msssimGrad(gp, p, t, saved, upstream, h, w)
	}
}

// pointwiseLoss computes, with d = p − t,
//
//	L1: mean|d| / norm;  L2: mean(d²) / norm
//
// where norm = 1, or when normalised mean|t| + 1e-8 and mean(t²) + 1e-8. It saves
// the gradient's factor, 1/(n·norm) or 2/(n·norm).
func (b *losses) pointwiseLoss(op nn.Loss, value, saved, p, t []float32) func() {
	n := len(p)
	blocks := (n + sumBlock - 1) / sumBlock
	sums, norms := b.float64s(blocks), b.float64s(blocks)
	set, kernel, factor := b.backend.set, loss.AbsoluteSums, 1.0
	if op.Kind == nn.L2 {
		kernel, factor = loss.SquareSums, 2
	}
	run := b.each(blocks, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			from, to := i*sumBlock, min((i+1)*sumBlock, n)
			sums[i], norms[i] = kernel(set, p[from:to], t[from:to])
		}
	})
	return func() {
		run()
		total, norm := 0.0, 0.0
		for i := range sums {
			total += sums[i]
			norm += norms[i]
		}
		scale := 1 / float64(n)
		if op.Normalize {
			scale /= norm/float64(n) + lossEpsilon
		}
		value[0], saved[0] = float32(total*scale), float32(factor*scale)
	}
}

// msssimWeights are the exponents of the scales (spec/prism.md §5.5).
var msssimWeights = [...]float64{0.0448, 0.2856, 0.3001, 0.2363, 0.1333}

// msssimFloor and 1 bound each scale's mean before the powers.
const msssimFloor = 1e-10

// msssimScale is one scale: its planes and the data saved for the gradient.
// Planes of all scales but the first are pooled from the finer scale and saved
// too.
type msssimScale struct {
	h, w       int
	p, t, maps []float32
}

// msssimLayout cuts saved into the scales and their gradient factors.
func msssimLayout(saved, p, t []float32, h, w int) (scales []msssimScale, factors []float32) {
	for i := range nn.MSSSIMScales(h, w) {
		n := h * w
		if i > 0 {
			p, t, saved = saved[:n], saved[n:2*n], saved[2*n:]
		}
		maps := nn.SSIMSaved(h, w)
		scales = append(scales, msssimScale{h, w, p, t, saved[:maps]})
		saved, h, w = saved[maps:], h/2, w/2
	}
	return scales, saved
}

// msssimLoss is (1 − Π meanᵢ^weightᵢ)/2 over the scales: the contrast-structure
// part at each, full SSIM at the fifth. With fewer than five scales the weights
// used are normalised to sum to 1, and no scale has the luminance term. It saves
// ∂loss/∂(one pixel of scale i's map).
func (b *losses) msssimLoss(value, saved, p, t []float32, h, w int) func() {
	scales, factors := msssimLayout(saved, p, t, h, w)
	maps := make([]*ssimMap, len(scales))
	pools := make([]func(), len(scales))
	total := 0.0
	used := b.used
	most := used
	for i, s := range scales {
		b.used = used // the scales run one after the other and share their scratch
		maps[i] = b.newSSIMMap(s.p, s.t, s.maps, s.h, s.w, i == len(msssimWeights)-1)
		most = max(most, b.used)
		total += msssimWeights[i]
		if i > 0 {
			pools[i] = b.poolPlanes(s, scales[i-1])
		}
	}
	b.used = most
	means := make([]float64, len(scales))
	return func() {
		logarithm := 0.0
		for i, m := range maps {
			if i > 0 {
				pools[i]()
			}
			means[i] = m.run()
			logarithm += msssimWeights[i] / total * math.Log(min(max(means[i], msssimFloor), 1))
		}
		product := math.Exp(logarithm)
		value[0] = float32((1 - product) / 2)
		for i, v := range means {
			factors[i] = 0 // the clamp is flat outside its bounds
			if v >= msssimFloor && v <= 1 {
				factors[i] = float32(-0.5 * product * msssimWeights[i] / total / v / float64(scales[i].h*scales[i].w))
			}
		}
	}
}

// poolPlanes returns a closure that computes a scale's planes from the finer
// ones.
func (b *losses) poolPlanes(to, from msssimScale) func() {
	return b.rows(to.h, to.w, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			poolRow(to.p[i*to.w:][:to.w], from.p[2*i*from.w:][:2*from.w])
			poolRow(to.t[i*to.w:][:to.w], from.t[2*i*from.w:][:2*from.w])
		}
	})
}

// poolRow averages 2×2 squares of two rows: y[j] = ¼·Σ x[{0, 1}·w + {2j, 2j+1}].
func poolRow(y, x []float32) {
	w := len(x) / 2
	upper, lower := x[:w], x[w:]
	for j := range y {
		y[j] = 0.25 * ((upper[2*j] + upper[2*j+1]) + (lower[2*j] + lower[2*j+1]))
	}
}

// unpoolRow is poolRow's adjoint for one of the two rows: y[2j] and y[2j+1] += ¼·x[j].
func unpoolRow(y, x []float32) {
	for j, v := range x {
		y[2*j] += 0.25 * v
		y[2*j+1] += 0.25 * v
	}
}

// msssimGrad goes from the coarsest scale to the finest; each adds the gradient
// of the coarser one.
func (b *losses) msssimGrad(gp, p, t, saved, upstream []float32, h, w int) func() {
	scales, factors := msssimLayout(saved, p, t, h, w)
	adjoints := make([]*ssimAdjoint, len(scales))
	gradients := make([][]float32, len(scales))
	for i, s := range scales {
		gradients[i] = gp
		if i > 0 {
			gradients[i] = b.floats(s.h * s.w)
		}
	}
	used := b.used
	most := used
	for i, s := range scales {
		b.used = used
		adjoints[i] = b.newSSIMAdjoint(gradients[i], s.p, s.t, s.maps, s.h, s.w)
		most = max(most, b.used)
		if i+1 < len(scales) {
			adjoints[i].coarse = gradients[i+1]
		}
	}
	b.used = most
	return func() {
		for i := len(adjoints) - 1; i >= 0; i-- {
			adjoints[i].run(upstream[0] * factors[i])
		}
	}
}

// diceSums are the sums of a block of an item: Σpt, Σp, Σt and the terms of the BCE.
type diceSums [4]float64

// logBlock is the number of factors 1 + e^−|z|, each at most 2, that are multiplied
// before one logarithm is taken.
const logBlock = 512

// add adds elements, and stores their probabilities.
func (s *diceSums) add(p, z, t []float32) {
	product := 1.0
	for i, v := range z {
		x, target := float64(v), float64(t[i])
		e := math.Exp(-math.Abs(x))
		probability := 1 / (1 + e)
		if x < 0 {
			probability *= e
		}
		p[i] = float32(probability)
		s[0] += probability * target
		s[1] += probability
		s[2] += target
		s[3] += max(x, 0) - x*target
		if product *= 1 + e; i%logBlock == logBlock-1 {
			s[3], product = s[3]+math.Log(product), 1
		}
	}
	s[3] += math.Log(product)
}

// diceBCE computes both terms of the segmentation loss, the probabilities, and the
// factors of each item's gradient, 2/D and (2·Σpt + smooth)/D² with D = Σp + Σt + smooth.
func (b *losses) diceBCE(smooth float32) func() {
	z, t, losses, p, factors := b.in(0), b.in(1), b.out(0), b.out(1), b.out(2)
	items := b.inShape(0)[0]
	size := len(z) / items
	blocks, sums := (size+sumBlock-1)/sumBlock, b.float64s(4*items*((size+sumBlock-1)/sumBlock))
	run := b.each(items*blocks, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var s diceSums
			from := i/blocks*size + i%blocks*sumBlock
			to := min(from+sumBlock, (i/blocks+1)*size)
			s.add(p[from:to], z[from:to], t[from:to])
			copy(sums[4*i:], s[:])
		}
	})
	return func() {
		run()
		dice, bce := 0.0, 0.0
		for item := range items {
			var s diceSums
			for i := item * blocks; i < (item+1)*blocks; i++ {
				for k := range s {
					s[k] += sums[4*i+k]
				}
			}
			both, all := 2*s[0]+float64(smooth), s[1]+s[2]+float64(smooth)
			dice += (1 - both/all) / float64(items)
			bce += s[3] / float64(len(z))
			factors[2*item], factors[2*item+1] = float32(2/all), float32(both/(all*all))
		}
		losses[0], losses[1] = float32(dice), float32(bce)
	}
}

// diceBCEGrad computes, for the logits of probabilities p,
//
//	gz = g[0]/items·(factor[1] − factor[0]·t)·p·(1 − p) + g[1]/elements·(p − t)
func (b *losses) diceBCEGrad() func() {
	p, t, factors, g, gz := b.in(0), b.in(1), b.in(2), b.in(3), b.out(0)
	items := b.inShape(0)[0]
	size := len(p) / items
	return b.each(len(p), grain, func(lo, hi int) {
		for lo < hi {
			item := lo / size
			end := min(hi, (item+1)*size)
			dice, bce := g[0]/float32(items), g[1]/float32(len(p))
			target, all := dice*factors[2*item], dice*factors[2*item+1]
			for i := lo; i < end; i++ {
				gz[i] = (all-target*t[i])*p[i]*(1-p[i]) + bce*(p[i]-t[i])
			}
			lo = end
		}
	})
}

// squaredError computes the mean of (x − t)².
func (b *losses) squaredError() func() {
	x, t, value, set := b.in(0), b.in(1), b.out(0), b.backend.set
	sums := b.float64s((len(x) + sumBlock - 1) / sumBlock)
	run := b.each(len(sums), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			from, to := i*sumBlock, min((i+1)*sumBlock, len(x))
			sums[i], _ = loss.SquareSums(set, x[from:to], t[from:to])
		}
	})
	return func() {
		run()
		total := 0.0
		for _, v := range sums {
			total += v
		}
		value[0] = float32(total / float64(len(x)))
	}
}

// squaredErrorGrad computes gx = 2·g/n·(x − t).
func (b *losses) squaredErrorGrad() func() {
	x, t, g, gx, set := b.in(0), b.in(1), b.in(2), b.out(0), b.backend.set
	return b.each(len(gx), grain, func(lo, hi int) {
		loss.Differences(set, gx[lo:hi], x[lo:hi], t[lo:hi], 2*g[0]/float32(len(gx)))
	})
}
