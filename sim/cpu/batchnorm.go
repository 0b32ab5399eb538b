package cpu

import (
	"math"

	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// channelLoop describes [N, C, H, W] by channel: plane i of channel c begins at
// (i·channels + c)·plane.
type channelLoop struct{ n, channels, plane int }

func (l channelLoop) count() float64 { return float64(l.n * l.plane) }

// of returns plane i of channel c.
func (l channelLoop) of(x []float32, i, c int) []float32 {
	return x[(i*l.channels+c)*l.plane:][:l.plane]
}

// perChannel checks an image and its per-channel vectors.
func (b *binder) perChannel(image tensor.Shape, vectors ...[]float32) (l channelLoop, ok bool) {
	if b.err != nil || !b.image(image) {
		return l, false
	}
	l = channelLoop{image[0], image[1], image[2] * image[3]}
	for _, v := range vectors {
		if len(v) != l.channels {
			b.fail("a vector of %d elements for the channels of %v", len(v), image)
			return l, false
		}
	}
	return l, true
}

// eachChannel returns a closure that runs body for every channel.
func (b *binder) eachChannel(l channelLoop, body func(c int)) func() {
	return b.rows(l.channels, l.n*l.plane, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			body(c)
		}
	})
}

// biasGrad computes gb[c] = Σ gy[n, c, i, j].
func (b *binder) biasGrad() func() {
	if !b.operands(1, 1, 1) {
		return nil
	}
	gy, gb, set := b.in(0), b.out(0), b.backend.set
	l, ok := b.perChannel(b.inShape(0), gb)
	if !ok {
		return nil
	}
	return b.eachChannel(l, func(c int) {
		total := 0.0
		for i := range l.n {
			part, _ := set.Moments(l.of(gy, i, c), 0)
			total += part
		}
		gb[c] = float32(total)
	})
}

// planePart is the number of elements of a channel's plane processed between checks of
// the context, for element-wise work: the last layer of a large field has a single
// channel.
const planePart = 1 << 20

// normaliser computes a BatchNorm's results from its statistics.
func normaliser(op nn.BatchNorm) func(set vec.Set, y, x []float32, mean, factor, shift float32) {
	if op.ReLU {
		return vec.Set.NormaliseReLU
	}
	return vec.Set.Normalise
}

func (b *binder) batchNorm(op nn.BatchNorm) func() {
	outs := 1
	if op.Train {
		outs = 5
	}
	if !b.operands(5, 5, outs) {
		return nil
	}
	set, normalise := b.backend.set, normaliser(op)
	x, gamma, beta, runningMean, runningVar, y := b.in(0), b.in(1), b.in(2), b.in(3), b.in(4), b.out(0)
	l, ok := b.perChannel(b.inShape(0), gamma, beta, runningMean, runningVar)
	if !ok || !b.sameShape(b.inShape(0), b.outShape(0)) {
		return nil
	}
	if !op.Train {
		return b.eachChannel(l, func(c int) {
			inverse := 1 / math.Sqrt(float64(runningVar[c])+float64(op.Eps))
			for i := range l.n {
				normalise(set, l.of(y, i, c), l.of(x, i, c), runningMean[c], float32(inverse*float64(gamma[c])), beta[c])
			}
		})
	}
	for i := 3; i <= 4; i++ {
		if id := b.current.In[i]; b.current.Out[i] != id || b.buffer(id).DType != tensor.Float32 {
			return b.fail("running statistics must be float32 and updated in place")
		}
	}
	mean, inverseStd := b.out(1), b.out(2)
	if _, ok := b.perChannel(b.inShape(0), mean, inverseStd); !ok {
		return nil
	}
	momentum, pool := decimal(op.Momentum), b.backend.pool
	return b.eachChannel(l, func(c int) {
		m, v := moments(set, x, l, c)
		if pool.Ended() { // a single channel of a large field takes long
			return
		}
		mean[c], inverseStd[c] = float32(m), float32(1/math.Sqrt(v+float64(op.Eps)))
		unbiased := v * l.count() / max(l.count()-1, 1)
		runningMean[c] = float32((1-momentum)*float64(runningMean[c]) + momentum*m)
		runningVar[c] = float32((1-momentum)*float64(runningVar[c]) + momentum*unbiased)
		factor := normFactor(gamma[c], inverseStd[c])
		for i := range l.n {
			to, from := l.of(y, i, c), l.of(x, i, c)
			for lo := 0; lo < len(to) && !pool.Ended(); lo += planePart {
				hi := min(lo+planePart, len(to))
				normalise(set, to[lo:hi], from[lo:hi], mean[c], factor, beta[c])
			}
		}
	})
}

// normFactor is gamma·inverseStd. The gradient of a fused ReLU uses the same
// factor to find which elements the ReLU passed.
func normFactor(gamma, inverseStd float32) float32 { return gamma * inverseStd }

// moments returns the mean and biased variance of a channel in one pass. Squares
// of float32 are exact in float64, and are taken about one of the channel's
// values.
func moments(set vec.Set, x []float32, l channelLoop, c int) (mean, variance float64) {
	shift := l.of(x, 0, c)[0]
	var total, square float64
	for i := range l.n {
		t, s := set.Moments(l.of(x, i, c), shift)
		total += t
		square += s
	}
	offset := total / l.count()
	return float64(shift) + offset, max(square/l.count()-offset*offset, 0)
}

// batchNormGrad computes, with x̂ the normalised input and m its number of
// elements,
//
//	gbeta = Σ gy;  ggamma = Σ gy·x̂;  gx = gamma·inverseStd·(gy − gbeta/m − x̂·ggamma/m)
//
// with gy = 0 where a fused ReLU gave 0.
func (b *binder) batchNormGrad(op nn.BatchNormGrad) func() {
	ins := 5
	if op.ReLU {
		ins = 6
	}
	if !b.operands(ins, ins, 3) {
		return nil
	}
	g := &normGradient{set: b.backend.set, pool: b.backend.pool, relu: op.ReLU,
		x: b.in(0), gy: b.in(1), gamma: b.in(2), mean: b.in(3), inverseStd: b.in(4),
		gx: b.out(0), ggamma: b.out(1), gbeta: b.out(2)}
	g.beta = g.gamma // sized correctly; only read with a ReLU
	if op.ReLU {
		g.beta = b.in(5)
	}
	var ok bool
	g.channelLoop, ok = b.perChannel(b.inShape(0), g.gamma, g.mean, g.inverseStd, g.beta, g.ggamma, g.gbeta)
	if !ok || !b.sameShape(b.inShape(0), b.inShape(1), b.outShape(0)) {
		return nil
	}
	return b.eachChannel(g.channelLoop, g.channel)
}

// normGradient is a BatchNormGrad bound to its operands.
type normGradient struct {
	channelLoop
	set                                 vec.Set
	pool                                *pool.Pool
	relu                                bool
	x, gy, gamma, beta                  []float32
	mean, inverseStd, gx, ggamma, gbeta []float32
}

// channel computes the gradients of one channel.
func (g *normGradient) channel(c int) {
	var total, product float64
	mean, factor := g.mean[c], normFactor(g.gamma[c], g.inverseStd[c])
	for i := range g.n {
		var t, p float64
		if g.relu {
			t, p = g.set.NormReLUGradSums(g.of(g.x, i, c), g.of(g.gy, i, c), mean, factor, g.beta[c])
		} else {
			t, p = g.set.NormGradSums(g.of(g.x, i, c), g.of(g.gy, i, c), mean)
		}
		total += t
		product += p
	}
	if g.pool.Ended() {
		return
	}
	inverse := float64(g.inverseStd[c])
	product *= inverse
	g.ggamma[c], g.gbeta[c] = float32(product), float32(total)
	scale := inverse * float64(g.gamma[c]) / g.count()
	slope, add := float32(-scale*product*inverse), float32(-scale*total)
	for i := range g.n {
		gx, x, gy := g.of(g.gx, i, c), g.of(g.x, i, c), g.of(g.gy, i, c)
		for lo := 0; lo < len(gx) && !g.pool.Ended(); lo += planePart {
			hi := min(lo+planePart, len(gx))
			if g.relu {
				g.set.NormGradReLU(gx[lo:hi], x[lo:hi], gy[lo:hi], mean, factor, g.beta[c], slope, add)
			} else {
				g.set.NormGrad(gx[lo:hi], x[lo:hi], gy[lo:hi], mean, factor, slope, add)
			}
		}
	}
}
