package cpu

import (
	"math"

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

// perChannel checks an image and per-channel vectors beside it.
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
	return b.each(l.channels, 1+grain/(l.n*l.plane), func(lo, hi int) {
		for c := lo; c < hi; c++ {
			body(c)
		}
	})
}

// biasGrad is gb[c] = Σ gy[n, c, i, j].
func (b *binder) biasGrad() func() {
	if !b.operands(1, 1, 1) {
		return nil
	}
	gy, gb := b.in(0), b.out(0)
	l, ok := b.perChannel(b.inShape(0), gb)
	if !ok {
		return nil
	}
	return b.eachChannel(l, func(c int) {
		total := 0.0
		for i := range l.n {
			total += sum(l.of(gy, i, c))
		}
		gb[c] = float32(total)
	})
}

func (b *binder) batchNorm(op nn.BatchNorm) func() {
	outs := 1
	if op.Train {
		outs = 5
	}
	if !b.operands(5, 5, outs) {
		return nil
	}
	set := b.backend.set
	x, gamma, beta, runningMean, runningVar, y := b.in(0), b.in(1), b.in(2), b.in(3), b.in(4), b.out(0)
	l, ok := b.perChannel(b.inShape(0), gamma, beta, runningMean, runningVar)
	if !ok || !b.sameShape(b.inShape(0), b.outShape(0)) {
		return nil
	}
	if !op.Train {
		return b.eachChannel(l, func(c int) {
			inverse := 1 / math.Sqrt(float64(runningVar[c])+float64(op.Eps))
			for i := range l.n {
				set.Normalise(l.of(y, i, c), l.of(x, i, c), runningMean[c], float32(inverse*float64(gamma[c])), beta[c])
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
	momentum := decimal(op.Momentum)
	return b.eachChannel(l, func(c int) {
		m, v := moments(x, l, c)
		inverse := 1 / math.Sqrt(v+float64(op.Eps))
		mean[c], inverseStd[c] = float32(m), float32(inverse)
		unbiased := v * l.count() / max(l.count()-1, 1)
		runningMean[c] = float32((1-momentum)*float64(runningMean[c]) + momentum*m)
		runningVar[c] = float32((1-momentum)*float64(runningVar[c]) + momentum*unbiased)
		for i := range l.n {
			set.Normalise(l.of(y, i, c), l.of(x, i, c), mean[c], float32(inverse*float64(gamma[c])), beta[c])
		}
	})
}

// moments is the mean and biased variance of a channel, in two passes.
func moments(x []float32, l channelLoop, c int) (mean, variance float64) {
	for i := range l.n {
		mean += sum(l.of(x, i, c))
	}
	mean /= l.count()
	for i := range l.n {
		variance += squaredDeviations(l.of(x, i, c), mean)
	}
	return mean, variance / l.count()
}

// squaredDeviations is Σ (x[i] − mean)², in four interleaved parts.
func squaredDeviations(x []float32, mean float64) float64 {
	var a, b, c, d float64
	for ; len(x) >= 4; x = x[4:] {
		p, q := float64(x[0])-mean, float64(x[1])-mean
		r, s := float64(x[2])-mean, float64(x[3])-mean
		a += p * p
		b += q * q
		c += r * r
		d += s * s
	}
	for _, v := range x {
		p := float64(v) - mean
		a += p * p
	}
	return (a + b) + (c + d)
}

// batchNormGrad is, with x̂ the normalised input and m its number of elements,
//
//	gbeta = Σ gy;  ggamma = Σ gy·x̂;  gx = gamma·inverseStd·(gy − gbeta/m − x̂·ggamma/m)
func (b *binder) batchNormGrad() func() {
	if !b.operands(5, 5, 3) {
		return nil
	}
	set := b.backend.set
	x, gy, gamma, mean, inverseStd := b.in(0), b.in(1), b.in(2), b.in(3), b.in(4)
	gx, ggamma, gbeta := b.out(0), b.out(1), b.out(2)
	l, ok := b.perChannel(b.inShape(0), gamma, mean, inverseStd, ggamma, gbeta)
	if !ok || !b.sameShape(b.inShape(0), b.inShape(1), b.outShape(0)) {
		return nil
	}
	return b.eachChannel(l, func(c int) {
		var total, product float64
		for i := range l.n {
			s, p := normGradSums(l.of(x, i, c), l.of(gy, i, c), mean[c])
			total += s
			product += p
		}
		inverse := float64(inverseStd[c])
		product *= inverse
		ggamma[c], gbeta[c] = float32(product), float32(total)
		factor := inverse * float64(gamma[c])
		slope := -factor * product * inverse / l.count()
		for i := range l.n {
			set.NormGrad(l.of(gx, i, c), l.of(x, i, c), l.of(gy, i, c), mean[c],
				float32(factor), float32(slope), float32(-factor*total/l.count()))
		}
	})
}

// normGradSums is Σ gy[i] and Σ gy[i]·(x[i] − mean), in two interleaved parts.
func normGradSums(x, gy []float32, mean float32) (total, product float64) {
	gy = gy[:len(x)]
	var t0, t1, p0, p1 float64
	i := 0
	for ; i+1 < len(x); i += 2 {
		g, h := float64(gy[i]), float64(gy[i+1])
		t0 += g
		p0 += g * float64(x[i]-mean)
		t1 += h
		p1 += h * float64(x[i+1]-mean)
	}
	if i < len(x) {
		g := float64(gy[i])
		t0 += g
		p0 += g * float64(x[i]-mean)
	}
	return t0 + t1, p0 + p1
}

// sum is Σ x[i] in float64, in four interleaved parts.
func sum(x []float32) float64 {
	var a, b, c, d float64
	i := 0
	for ; i+3 < len(x); i += 4 {
		a += float64(x[i])
		b += float64(x[i+1])
		c += float64(x[i+2])
		d += float64(x[i+3])
	}
	for ; i < len(x); i++ {
		a += float64(x[i])
	}
	return (a + b) + (c + d)
}
