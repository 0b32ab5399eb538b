package cpu

import (
	"math"
	"strconv"
	"sync/atomic"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// decimal is the float64 that was meant by a float32 constant: 0.999, not
// 0.99900001. Bias corrections 1−β^k lose five digits to the difference.
func decimal(x float32) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64)
	if err != nil {
		return float64(x) // NaN and infinities print and parse, so this cannot be reached
	}
	return v
}

// inPlace checks that outputs are the same float32 buffers as the given inputs.
func (b *binder) inPlace(inputs ...int) bool {
	for o, i := range inputs {
		if buf := b.buffer(b.current.In[i]); buf.DType != tensor.Float32 {
			b.fail("input %d (%q) is %v, want float32 to update it in place", i, buf.Name, buf.DType)
			return false
		}
		if b.current.Out[o] != b.current.In[i] {
			b.fail("output %d must be the buffer of input %d", o, i)
			return false
		}
	}
	return true
}

// adamStep is step += 1 unless found is 1.
func (b *binder) adamStep() func() {
	if !b.operands(1, 2, 1) || !b.inPlace(0) {
		return nil
	}
	step := b.scalar(b.out(0), "the step")
	if len(b.current.In) == 1 {
		return func() { step[0]++ }
	}
	found := b.scalar(b.in(1), "found")
	return func() {
		if found[0] != 1 {
			step[0]++
		}
	}
}

func (b *binder) adam(op nn.Adam) func() {
	ins, outs := 6, 3
	if op.AMSGrad {
		ins, outs = ins+1, outs+1
	}
	if op.Scaler {
		ins++
	}
	if !b.operands(ins, ins, outs) || !b.inPlace([]int{3, 4, 5, 6}[:outs]...) {
		return nil
	}
	g, lr, step := b.in(0), b.scalar(b.in(1), "lr"), b.scalar(b.in(2), "the step")
	p, m, v := b.out(0), b.out(1), b.out(2)
	var vmax, found []float32
	if op.AMSGrad {
		vmax = b.out(3)
	}
	if op.Scaler {
		found = b.scalar(b.in(ins-1), "found")
	}
	for i := range outs {
		if !b.sameShape(b.inShape(0), b.outShape(i)) {
			return nil
		}
	}
	beta1, beta2 := decimal(op.Beta1), decimal(op.Beta2)
	var s vec.AdamScalars
	set := b.backend.set
	run := b.each(len(p), grain, func(lo, hi int) {
		if vmax != nil {
			set.AMSGrad(p[lo:hi], m[lo:hi], v[lo:hi], vmax[lo:hi], g[lo:hi], &s)
		} else {
			set.Adam(p[lo:hi], m[lo:hi], v[lo:hi], g[lo:hi], &s)
		}
	})
	return func() {
		if found != nil && found[0] == 1 {
			return
		}
		k := float64(step[0])
		s = vec.AdamScalars{
			Beta1: float32(beta1), Rate1: float32(1 - beta1),
			Beta2: float32(beta2), Rate2: float32(1 - beta2),
			Size: float32(float64(lr[0]) / (1 - math.Pow(beta1, k))),
			Root: float32(1 / math.Sqrt(1-math.Pow(beta2, k))),
			Eps:  op.Eps,
		}
		run()
	}
}

// unscale is g[i] /= scale; found = 1 if an element of the quotient is not finite.
func (b *binder) unscale() func() {
	if !b.operands(3, 3, 2) || !b.inPlace(0, 2) {
		return nil
	}
	scale := b.scalar(b.in(1), "the scale")
	g, found := b.out(0), b.scalar(b.out(1), "found")
	var overflow atomic.Bool
	var inverse float32
	run := b.each(len(g), grain, func(lo, hi int) {
		if !scaleFinite(g[lo:hi], inverse) {
			overflow.Store(true)
		}
	})
	return func() {
		inverse = float32(1 / float64(scale[0]))
		overflow.Store(false)
		run()
		if overflow.Load() {
			found[0] = 1
		}
	}
}

// scaleFinite is x[i] *= w, and tells whether all products are finite.
func scaleFinite(x []float32, w float32) bool {
	worst := uint32(0)
	for i := range x {
		x[i] *= w
		worst = max(worst, math.Float32bits(x[i])&math.MaxInt32)
	}
	return worst < 0x7f800000
}

// scalerUpdate is, with the overflow's factor 0.5 and the growth's 2
// (spec/prism.md §5.7):
//
//	found = 1: scale *= 0.5, good = 0;  else good += 1, and at interval scale *= 2, good = 0
func (b *binder) scalerUpdate(interval int) func() {
	if !b.operands(3, 3, 2) || !b.inPlace(1, 2) {
		return nil
	}
	found := b.scalar(b.in(0), "found")
	scale, good := b.scalar(b.out(0), "the scale"), b.scalar(b.out(1), "good")
	return func() {
		if found[0] == 1 {
			scale[0], good[0] = scale[0]*0.5, 0
			return
		}
		good[0]++
		if int(good[0]) < interval {
			return
		}
		good[0] = 0
		if larger := scale[0] * 2; !math.IsInf(float64(larger), 0) {
			scale[0] = larger
		}
	}
}
