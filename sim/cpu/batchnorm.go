package cpu

import (
	"math"

	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/norm"
	"prismtop/sim/cpu/volume"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Batch normalisation and its gradient, and the gradient of a bias.

// normalisations binds what goes over the channels of a batch: its normalisation, and the gradient of a bias.
type normalisations struct {
	*binder
}

func (b *normalisations) bind(op nn.Op) (run func(), ok bool) {
	switch op := op.(type) {
	case nn.BiasGrad:
		return b.biasGrad(), true
	case nn.BatchNorm:
		return b.batchNorm(op), true
	case nn.BatchNormGrad:
		return b.batchNormGrad(op), true
	}
	return nil, false
}

// channelLoop describes [N, C, H, W] by channel: plane i of channel c begins at
// (i·channels + c)·plane.
type channelLoop struct{ n, channels, plane int }

func (l channelLoop) count() float64 { return float64(l.n * l.plane) }

// perChannel returns the loop of an image.
func perChannel(image tensor.Shape) channelLoop {
	return channelLoop{image[0], image[1], image[2] * image[3]}
}

// eachChannel returns a closure that runs body for every channel, with scratch of size floats.
func (b *normalisations) eachChannel(l channelLoop, size int, body func(scratch []float32, c int)) func() {
	if size == 0 {
		return b.rows(l.channels, l.n*l.plane, func(lo, hi int) {
			for c := lo; c < hi; c++ {
				body(nil, c)
			}
		})
	}
	return b.shared(l.channels, size, l.n*l.plane*worthwhile/grain, func(scratch []float32, lo, hi int) {
		for c := lo; c < hi; c++ {
			body(scratch, c)
		}
	})
}

// pieces are parts of channels' planes: of 16-bit images those that are widened at a time, else
// those between checks of the context.
type pieces struct {
	channelLoop
	pool *pool.Pool
	most int // elements of a piece
	size int // floats of a piece in scratch: 0 unless an image is a 16-bit one
}

// halfPart is the number of 16-bit elements that are widened at a time.
const halfPart = 8 << 10

// pieces returns the pieces of images.
func (b *normalisations) pieces(l channelLoop, images ...volume.Values) pieces {
	p := pieces{channelLoop: l, pool: b.backend.pool, most: planePart}
	for _, v := range images {
		if v.F == nil {
			p.size = min(halfPart, l.plane)
			p.most = p.size
		}
	}
	return p
}

// each calls do for the pieces of a channel, which begin at an element of the image and have n, until
// the pool has ended.
func (p *pieces) each(c int, do func(at, n int)) {
	for i := range p.n {
		first := (i*p.channels + c) * p.plane
		for lo := 0; lo < p.plane && !p.pool.Ended(); lo += p.most {
			do(first+lo, min(p.most, p.plane-lo))
		}
	}
}

// biasGrad computes gb[c] = Σ gy[n, c, i, j].
func (b *normalisations) biasGrad() func() {
	gy, gb, set := b.inValues(0), b.out(0), b.backend.set
	l := perChannel(b.inShape(0))
	p := b.pieces(l, gy)
	return b.eachChannel(l, p.size, func(scratch []float32, c int) {
		total := 0.0
		p.each(c, func(at, n int) {
			part, _ := norm.Moments(set, gy.Read(set, scratch, at, n), 0)
			total += part
		})
		gb[c] = float32(total)
	})
}

// planePart is the number of elements of a channel's plane processed between checks of
// the context: the last layer of a large field has a single channel.
const planePart = 1 << 20

// normaliser returns a function that computes n of a BatchNorm's results from at on.
func (b *normalisations) normaliser(relu bool, y, x volume.Values) func(scratch []float32, at, n int, mean, factor,
	shift float32) {
	set, pairs := b.backend.set, b.backend.pairs
	if relu && b.paired(x, y) {
		return func(_ []float32, at, n int, mean, factor, shift float32) {
			norm.NormaliseReLUHalf(pairs, y.H[at:][:n], x.H[at:][:n], mean, factor, shift)
		}
	}
	normalise := norm.Normalise
	if relu {
		normalise = norm.NormaliseReLU
	}
	return func(scratch []float32, at, n int, mean, factor, shift float32) {
		to := y.Results(scratch, at, n)
		normalise(set, to, x.Read(set, scratch, at, n), mean, factor, shift)
		y.Write(set, to, at)
	}
}

// paired reports whether images are bfloat16 that kernels of pairs convert as they compute.
func (b *normalisations) paired(images ...volume.Values) bool {
	for _, v := range images {
		if v.H == nil || v.Type != tensor.BFloat16 {
			return false
		}
	}
	return b.backend.pairs != vec.NoPairs
}

func (b *normalisations) batchNorm(op nn.BatchNorm) func() {
	set, pairs := b.backend.set, b.backend.pairs
	x, gamma, beta, runningMean, runningVar, y := b.inValues(0), b.in(1), b.in(2), b.in(3), b.in(4), b.outValues(0)
	l := perChannel(b.inShape(0))
	p, normalise, paired := b.pieces(l, x, y), b.normaliser(op.ReLU, y, x), b.paired(x)
	if !op.Train {
		return b.eachChannel(l, p.size, func(scratch []float32, c int) {
			inverse := 1 / math.Sqrt(float64(runningVar[c])+float64(op.Eps))
			p.each(c, func(at, n int) {
				normalise(scratch, at, n, runningMean[c], float32(inverse*float64(gamma[c])), beta[c])
			})
		})
	}
	mean, inverseStd := b.out(1), b.out(2)
	momentum, pool := decimal(op.Momentum), b.backend.pool
	return b.eachChannel(l, p.size, func(scratch []float32, c int) {
		shift := x.Read(set, scratch, c*l.plane, 1)[0]
		var total, square float64
		p.each(c, func(at, n int) {
			var t, s float64
			if paired {
				t, s = norm.MomentsHalf(pairs, x.H[at:][:n], shift)
			} else {
				t, s = norm.Moments(set, x.Read(set, scratch, at, n), shift)
			}
			total += t
			square += s
		})
		m, v := moments(shift, total, square, l.count())
		if pool.Ended() { // a single channel of a large field takes long
			return
		}
		mean[c], inverseStd[c] = float32(m), float32(1/math.Sqrt(v+float64(op.Eps)))
		unbiased := v * l.count() / max(l.count()-1, 1)
		runningMean[c] = float32((1-momentum)*float64(runningMean[c]) + momentum*m)
		runningVar[c] = float32((1-momentum)*float64(runningVar[c]) + momentum*unbiased)
		factor := normFactor(gamma[c], inverseStd[c])
		p.each(c, func(at, n int) {
			normalise(scratch, at, n, mean[c], factor, beta[c])
		})
	})
}

// moments returns the mean and biased variance of count values from the sums of their differences
// from shift, one of them, and of the differences' squares. Squares of float32 are exact in float64.
func moments(shift float32, total, square, count float64) (mean, variance float64) {
	offset := total / count
	return float64(shift) + offset, max(square/count-offset*offset, 0)
}

// normFactor is gamma·inverseStd. The gradient of a fused ReLU uses the same
// factor to find which elements the ReLU passed.
func normFactor(gamma, inverseStd float32) float32 { return gamma * inverseStd }

// batchNormGrad computes, with x̂ the normalised input and m its number of
// elements,
//
//	gbeta = Σ gy;  ggamma = Σ gy·x̂;  gx = gamma·inverseStd·(gy − gbeta/m − x̂·ggamma/m)
//
// with gy = 0 where a fused ReLU gave 0.
func (b *normalisations) batchNormGrad(op nn.BatchNormGrad) func() {
	g := &normGradient{set: b.backend.set, relu: op.ReLU,
		x: b.inValues(0), gy: b.inValues(1), gamma: b.in(2), mean: b.in(3), inverseStd: b.in(4),
		gx: b.outValues(0), ggamma: b.out(1), gbeta: b.out(2)}
	g.beta = g.gamma // sized correctly; only read with a ReLU
	if op.ReLU {
		g.beta = b.in(5)
	}
	l := perChannel(b.inShape(0))
	g.pieces, g.pairs, g.paired = b.pieces(l, g.x, g.gy, g.gx), b.backend.pairs, op.ReLU && b.paired(g.x, g.gy, g.gx)
	return b.eachChannel(l, 2*g.size, g.channel)
}

// normGradient is a BatchNormGrad bound to its operands.
type normGradient struct {
	pieces
	set              vec.Set
	relu             bool
	pairs            vec.Pairs
	paired           bool // with a ReLU and images of bfloat16, by kernels of pairs
	x, gy, gx        volume.Values
	gamma, beta      []float32
	mean, inverseStd []float32
	ggamma, gbeta    []float32
}

// channel computes the gradients of one channel.
func (g *normGradient) channel(scratch []float32, c int) {
	var total, product float64
	factor := normFactor(g.gamma[c], g.inverseStd[c])
	g.each(c, func(at, n int) {
		t, p := g.sums(scratch, at, n, c, factor)
		total += t
		product += p
	})
	if g.pool.Ended() {
		return
	}
	inverse := float64(g.inverseStd[c])
	product *= inverse
	g.ggamma[c], g.gbeta[c] = float32(product), float32(total)
	scale := inverse * float64(g.gamma[c]) / g.count()
	slope, add := float32(-scale*product*inverse), float32(-scale*total)
	g.each(c, func(at, n int) {
		g.gradient(scratch, at, n, c, factor, slope, add)
	})
}

// sums adds up n gradients and their products with the differences from the mean.
func (g *normGradient) sums(scratch []float32, at, n, c int, factor float32) (total, product float64) {
	if g.paired {
		return norm.GradSumsReLUHalf(g.pairs, g.x.H[at:][:n], g.gy.H[at:][:n], g.mean[c], factor, g.beta[c])
	}
	x, gy := g.x.Read(g.set, scratch, at, n), g.gy.Read(g.set, scratch[g.size:], at, n)
	if g.relu {
		return norm.GradSumsReLU(g.set, x, gy, g.mean[c], factor, g.beta[c])
	}
	return norm.GradSums(g.set, x, gy, g.mean[c])
}

// gradient computes n elements of gx.
func (g *normGradient) gradient(scratch []float32, at, n, c int, factor, slope, add float32) {
	if g.paired {
		norm.GradReLUHalf(g.pairs, g.gx.H[at:][:n], g.x.H[at:][:n], g.gy.H[at:][:n], g.mean[c], factor,
			g.beta[c], slope, add)
		return
	}
	x, gy := g.x.Read(g.set, scratch, at, n), g.gy.Read(g.set, scratch[g.size:], at, n)
	gx := g.gx.Results(scratch, at, n)
	if g.relu {
		norm.GradReLU(g.set, gx, x, gy, g.mean[c], factor, g.beta[c], slope, add)
	} else {
		norm.Grad(g.set, gx, x, gy, g.mean[c], factor, slope, add)
	}
	g.gx.Write(g.set, gx, at)
}
