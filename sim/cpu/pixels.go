package cpu

import (
	"math"

	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Pooling and enlarging by two, rectangles, the division of channels, swish and softplus.

// halved checks that two images differ by a factor of two in both sides, and
// returns the number of planes and the smaller sides.
func (b *elementwise) halved(large, small tensor.Shape) (n, h, w int, ok bool) {
	if !b.image(large) || !b.image(small) {
		return 0, 0, 0, false
	}
	n, h, w = small[0]*small[1], small[2], small[3]
	if large[0] != small[0] || large[1] != small[1] || large[2] != 2*h || large[3] != 2*w {
		b.fail("images %v and %v do not differ by a factor of 2", large, small)
		return 0, 0, 0, false
	}
	return n, h, w, b.err == nil
}

// maxPool computes y[i, j] = max x[2i…2i+1, 2j…2j+1].
func (b *elementwise) maxPool() func() {
	if !b.operands(1, 1, 1) {
		return nil
	}
	n, h, w, ok := b.halved(b.inShape(0), b.outShape(0))
	if !ok {
		return nil
	}
	set := b.backend.set
	if x, y, ok := b.bfloats(); ok {
		return b.pooled(y, x, n*h, w)
	}
	x, y := b.in(0), b.out(0)
	return b.rows(n*h, 4*w, func(lo, hi int) { elements.MaxPool(set, y[lo*w:], x[4*lo*w:], hi-lo, w) })
}

// maxPoolGrad passes gy to the first of the largest values of each block.
func (b *elementwise) maxPoolGrad() func() {
	if !b.operands(2, 2, 1) || !b.sameShape(b.inShape(0), b.outShape(0)) {
		return nil
	}
	x, gy, gx := b.in(0), b.in(1), b.out(0)
	n, h, w, ok := b.halved(b.inShape(0), b.inShape(1))
	if !ok {
		return nil
	}
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
	if !b.operands(1, 1, 1) {
		return nil
	}
	n, h, w, ok := b.halved(b.outShape(0), b.inShape(0))
	if !ok {
		return nil
	}
	set := b.backend.set
	if x, y, ok := b.bfloats(); ok {
		return b.doubled(y, x, n*h, w)
	}
	x, y := b.in(0), b.out(0)
	return b.rows(n*h, 4*w, func(lo, hi int) { elements.DoubleRows(set, y[4*lo*w:], x[lo*w:], hi-lo, w) })
}

// upsampleGrad computes gx[i, j] = Σ gy[2i…2i+1, 2j…2j+1].
func (b *elementwise) upsampleGrad() func() {
	if !b.operands(1, 1, 1) {
		return nil
	}
	gy, gx := b.in(0), b.out(0)
	n, h, w, ok := b.halved(b.inShape(0), b.outShape(0))
	if !ok {
		return nil
	}
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
	if !b.operands(2, 2, 1) || !b.sameShape(b.inShape(0), b.outShape(0)) {
		return nil
	}
	n, h, w, ok := b.planes(b.inShape(0))
	m, innerH, innerW, okInner := b.planes(b.inShape(1))
	if !ok || !okInner || n != m || !b.rectangle(op.Top, op.Left, innerH, innerW, h, w) {
		return b.fail("inset of %v at (%d, %d) into %v", b.inShape(1), op.Top, op.Left, b.inShape(0))
	}
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
	if !b.operands(1, 1, 1) || !b.sameShape(b.inShape(0), b.outShape(0)) {
		return nil
	}
	n, h, w, ok := b.planes(b.inShape(0))
	if !ok || !b.rectangle(op.Top, op.Left, op.Height, op.Width, h, w) {
		return b.fail("inset of %dx%d at (%d, %d) into %v", op.Height, op.Width, op.Top, op.Left, b.inShape(0))
	}
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

// rectangle reports whether one of height×width at (top, left) lies within h×w.
func (b *elementwise) rectangle(top, left, height, width, h, w int) bool {
	return top >= 0 && left >= 0 && height >= 1 && width >= 1 && top+height <= h && left+width <= w
}

// divide copies an image's first channels to one output and the rest to another.
func (b *elementwise) divide(op nn.Split) func() {
	if !b.operands(1, 1, 2) || !b.image(b.inShape(0)) || !b.image(b.outShape(0)) || !b.image(b.outShape(1)) {
		return nil
	}
	s, first, rest := b.inShape(0), b.outShape(0), b.outShape(1)
	fits := first[1] == op.Channels && first[1]+rest[1] == s[1]
	for _, part := range []tensor.Shape{first, rest} {
		fits = fits && part[0] == s[0] && part[2] == s[2] && part[3] == s[3]
	}
	if !fits {
		return b.fail("%d channels of %v do not make %v and %v", op.Channels, s, first, rest)
	}
	plane := s[2] * s[3]
	one, other, floats := first[1]*plane, rest[1]*plane, 2*s[1]*plane
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
	if !b.operands(1, 1, 1) || !b.sameShape(b.inShape(0), b.outShape(0)) {
		return nil
	}
	x, y, set := b.in(0), b.out(0), b.backend.set
	return b.each(len(x), grain, func(lo, hi int) { elements.Swish(set, y[lo:hi], x[lo:hi]) })
}

// swishGrad computes gx = gy·(s + x·s·(1−s)) with s = σ(x).
func (b *elementwise) swishGrad() func() {
	if !b.operands(2, 2, 1) || !b.sameShape(b.inShape(0), b.inShape(1), b.outShape(0)) {
		return nil
	}
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
	if !b.operands(1, 1, 1) || !b.sameShape(b.inShape(0), b.outShape(0)) {
		return nil
	}
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
	if !b.operands(2, 2, 1) || !b.sameShape(b.inShape(0), b.inShape(1), b.outShape(0)) {
		return nil
	}
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
func (b *elementwise) doubled(y, x []uint16, rows, w int) func() {
	pairs, set := half.PairsOf(y), b.backend.set // of an element and its repetition
	return b.rows(rows, 2*w, func(lo, hi int) {
		half.PairRows(set, pairs[2*lo*w:], 2*w, x[lo*w:], x[lo*w:], w, hi-lo, w)
		half.PairRows(set, pairs[(2*lo+1)*w:], 2*w, x[lo*w:], x[lo*w:], w, hi-lo, w)
	})
}

// pooled returns a closure that computes the largest of each block of 2×2 pixels of x for rows of y of width w.
func (b *elementwise) pooled(y, x []uint16, rows, w int) func() {
	set := b.backend.set
	return b.rows(rows, 2*w, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			above := x[4*row*w:][:4*w]
			half.LargestPairs(set, y[row*w:][:w], above[:2*w], above[2*w:])
		}
	})
}
