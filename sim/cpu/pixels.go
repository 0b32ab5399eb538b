package cpu

import (
	"math"

	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Pooling and enlarging by two, rectangles, the division of channels, swish and softplus.

// maxPool computes y[i, j] = max x[2i…2i+1, 2j…2j+1].
func (b *elementwise) maxPool() func() {
	n, h, w := planes(b.outShape(0))
	set := b.backend.set
	if x, y, ok := b.bfloats(); ok {
		return b.pooled(y, x, n*h, w)
	}
	x, y := b.in(0), b.out(0)
	return b.rows(n*h, 4*w, func(lo, hi int) { elements.MaxPool(set, y[lo*w:], x[4*lo*w:], hi-lo, w) })
}

// maxPoolGrad passes gy to the first of the largest values of each block.
func (b *elementwise) maxPoolGrad() func() {
	x, gy, gx := b.in(0), b.in(1), b.out(0)
	n, h, w := planes(b.inShape(1))
	return b.rows(n*h, 8*w, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			above, below := 2*row*2*w, (2*row+1)*2*w
			clear(gx[above:][:4*w])
			for j, v := range gy[row*w:][:w] {
				at := above + 2*j
				for _, other := range [...]int{above + 2*j + 1, below + 2*j, below + 2*j + 1} {
					if x[other] > x[at] {
						at = other
					}
				}
				gx[at] = v
			}
		}
	})
}

// upsample computes y[i, j] = x[⌊i/2⌋, ⌊j/2⌋].
func (b *elementwise) upsample() func() {
	n, h, w := planes(b.inShape(0))
	set := b.backend.set
	if x, y, ok := b.bfloats(); ok {
		return b.doubled(y, x, n*h, w)
	}
	x, y := b.in(0), b.out(0)
	return b.rows(n*h, 4*w, func(lo, hi int) { elements.DoubleRows(set, y[4*lo*w:], x[lo*w:], hi-lo, w) })
}

// upsampleGrad computes gx[i, j] = Σ gy[2i…2i+1, 2j…2j+1].
func (b *elementwise) upsampleGrad() func() {
	gy, gx := b.in(0), b.out(0)
	n, h, w := planes(b.outShape(0))
	return b.rows(n*h, 4*w, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			above, below := gy[2*row*2*w:][:2*w], gy[(2*row+1)*2*w:][:2*w]
			for j := range w {
				gx[row*w+j] = (above[2*j] + above[2*j+1]) + (below[2*j] + below[2*j+1])
			}
		}
	})
}

// inset copies outer, and inner over it.
func (b *elementwise) inset(op nn.Inset) func() {
	n, h, w := planes(b.inShape(0))
	innerH, innerW := b.inShape(1).Plane()
	outer, inner, y := b.in(0), b.in(1), b.out(0)
	return b.rows(n*h, 2*w, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			to, from := y[row*w:][:w], outer[row*w:][:w]
			plane, i := row/h, row%h-op.Top
			if i < 0 || i >= innerH {
				copy(to, from)
				continue
			}
			copy(to[:op.Left], from)
			copy(to[op.Left:], inner[(plane*innerH+i)*innerW:][:innerW])
			copy(to[op.Left+innerW:], from[op.Left+innerW:])
		}
	})
}

// insetGrad copies gy, with zeros in the rectangle.
func (b *elementwise) insetGrad(op nn.InsetGrad) func() {
	n, h, w := planes(b.inShape(0))
	gy, g := b.in(0), b.out(0)
	return b.rows(n*h, 2*w, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			to := g[row*w:][:w]
			copy(to, gy[row*w:])
			if i := row%h - op.Top; i >= 0 && i < op.Height {
				clear(to[op.Left:][:op.Width])
			}
		}
	})
}

// divide copies an image's first channels to one output and the rest to another.
func (b *elementwise) divide(op nn.Split) func() {
	s := b.inShape(0)
	plane := s[2] * s[3]
	one, other, floats := op.Channels*plane, (s[1]-op.Channels)*plane, 2*s[1]*plane
	if x, a, ok := b.bfloats(); ok && b.views[b.current.Out[1]].h != nil {
		return b.rows(s[0], floats, divider(a, b.views[b.current.Out[1]].h, x, one, other))
	}
	return b.rows(s[0], floats, divider(b.out(0), b.out(1), b.in(0), one, other))
}

// divider returns the body of a loop over images that are divided into one and other elements.
func divider[T float32 | uint16](a, z, x []T, one, other int) func(lo, hi int) {
	return func(lo, hi int) {
		for n := lo; n < hi; n++ {
			from := x[n*(one+other):]
			copy(a[n*one:][:one], from)
			copy(z[n*other:][:other], from[one:])
		}
	}
}

// swish computes y = x·σ(x).
func (b *elementwise) swish() func() {
	x, y, set := b.in(0), b.out(0), b.backend.set
	return b.each(len(x), grain, func(lo, hi int) { elements.Swish(set, y[lo:hi], x[lo:hi]) })
}

// swishGrad computes gx = gy·(s + x·s·(1−s)) with s = σ(x).
func (b *elementwise) swishGrad() func() {
	x, gy, gx := b.in(0), b.in(1), b.out(0)
	return b.each(len(x), grain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			s := elements.Logistic(x[i])
			gx[i] = float32(float64(gy[i]) * (s + float64(x[i])*s*(1-s)))
		}
	})
}

// softplus computes y = ln(1 + e^x) = max(x, 0) + ln(1 + e^−|x|).
func (b *elementwise) softplus() func() {
	x, y := b.in(0), b.out(0)
	return b.each(len(x), grain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v := float64(x[i])
			y[i] = float32(max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))))
		}
	})
}

// softplusGrad computes gx = gy·σ(x).
func (b *elementwise) softplusGrad() func() {
	x, gy, gx := b.in(0), b.in(1), b.out(0)
	return b.each(len(x), grain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			gx[i] = float32(float64(gy[i]) * elements.Logistic(x[i]))
		}
	})
}

// bfloats returns the first input and output, if both are bfloat16.
func (b *elementwise) bfloats() (x, y []uint16, ok bool) {
	in, out := b.current.In[0], b.current.Out[0]
	if b.buffer(in).DType != tensor.BFloat16 || b.buffer(out).DType != tensor.BFloat16 {
		return nil, nil, false
	}
	return b.half(0), b.views[out].h, true
}

// doubled returns a closure that repeats each pixel of rows of x of width w in a block of 2×2 of y.
func (b *binder) doubled(y, x []uint16, rows, w int) func() {
	pairs, set := half.PairsOf(y), b.backend.set // of an element and its repetition
	return b.rows(rows, 2*w, func(lo, hi int) {
		half.PairRows(set, pairs[2*lo*w:], 2*w, x[lo*w:], x[lo*w:], w, hi-lo, w)
		half.PairRows(set, pairs[(2*lo+1)*w:], 2*w, x[lo*w:], x[lo*w:], w, hi-lo, w)
	})
}

// pooled returns a closure that computes the largest of each block of 2×2 pixels of x for rows of y of width w.
func (b *binder) pooled(y, x []uint16, rows, w int) func() {
	set := b.backend.set
	return b.rows(rows, 2*w, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			above := x[4*row*w:][:4*w]
			half.LargestPairs(set, y[row*w:][:w], above[:2*w], above[2*w:])
		}
	})
}
