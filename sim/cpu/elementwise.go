package cpu

import (
	"slices"
	"sync/atomic"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// elementwise binds what computes each element from one or a few: sums, activations, casts and moves, and the operators
// of pixels.
type elementwise struct {
	*binder
}

func (b *elementwise) bind(op nn.Op) (run func(), ok bool) {
	switch op := op.(type) {
	case nn.Activation:
		return b.activation(op.Kind), true
	case nn.ActivationGrad:
		return b.activationGrad(op.Kind), true
	case nn.Place:
		return b.place(op), true
	case nn.Add:
		return b.add(), true
	case nn.Scale:
		return b.scale(op.Factor), true
	case nn.Concat:
		return b.concat(), true
	case nn.Channels:
		return b.channels(op.From), true
	case nn.Cast:
		return b.cast(), true
	case nn.Fill:
		return b.fill(op.Value), true
	case nn.WeightedSum:
		return b.weightedSum(op.Weights), true
	case nn.Seed:
		return b.seed(op.Weight), true
	case nn.MaxPool:
		return b.maxPool(), true
	case nn.MaxPoolGrad:
		return b.maxPoolGrad(), true
	case nn.Upsample:
		return b.upsample(), true
	case nn.UpsampleGrad:
		return b.upsampleGrad(), true
	case nn.Inset:
		return b.inset(op), true
	case nn.InsetGrad:
		return b.insetGrad(op), true
	case nn.Split:
		return b.divide(op), true
	case nn.Swish:
		return b.swish(), true
	case nn.SwishGrad:
		return b.swishGrad(), true
	case nn.Softplus:
		return b.softplus(), true
	case nn.SoftplusGrad:
		return b.softplusGrad(), true
	}
	return nil, false
}

// add computes y[i] = in0[i] + in1[i] + …
func (b *elementwise) add() func() {
	y := b.outParts(0)
	terms := make([][]float32, len(b.current.In))
	for i := range terms {
		terms[i] = b.inParts(i)
	}
	set := b.backend.set
	return b.each(len(y), grain, func(lo, hi int) {
		elements.Add(set, y[lo:hi], terms[0][lo:hi], terms[1][lo:hi])
		for _, x := range terms[2:] {
			elements.Add(set, y[lo:hi], y[lo:hi], x[lo:hi])
		}
	})
}

// scale computes y[i] = factor·x[i].
func (b *elementwise) scale(factor float32) func() {
	x, y, set := b.inParts(0), b.outParts(0), b.backend.set
	return b.each(len(y), grain, func(lo, hi int) { elements.Scale(set, y[lo:hi], x[lo:hi], factor) })
}

// fill computes y[i] = value.
func (b *elementwise) fill(value float32) func() {
	y := b.out(0)
	return b.each(len(y), grain, func(lo, hi int) {
		part := y[lo:hi]
		for i := range part {
			part[i] = value
		}
	})
}

// cast copies between element types, without scratch if one of them is float32.
func (b *elementwise) cast() func() {
	if run := b.castVariable(); run != nil {
		return run
	}
	b.reads(b.current.In[0])
	from, to := b.buffer(b.current.In[0]).DType, b.buffer(b.current.Out[0]).DType
	source, target := b.views[b.current.In[0]], b.views[b.current.Out[0]]
	n, set := b.inShape(0).Elements(), b.backend.set
	switch {
	case from == tensor.Float32 && to.Size() == 2:
		return b.each(n, grain, func(lo, hi int) { half.Narrow(set, to, target.h[lo:hi], source.f[lo:hi]) })
	case from.Size() == 2 && to == tensor.Float32:
		return b.each(n, grain, func(lo, hi int) { half.Widen(set, from, target.f[lo:hi], source.h[lo:hi]) })
	}
	x, y := b.in(0), b.out(0)
	return b.each(n, grain, func(lo, hi int) { copy(y[lo:hi], x[lo:hi]) })
}

// weightedSum computes Σ weights[i]·in[i] of scalars.
func (b *elementwise) weightedSum(weights []float32) func() {
	y := b.out(0)
	terms := make([][]float32, len(weights))
	for i := range terms {
		terms[i] = b.in(i)
	}
	return func() {
		total := 0.0
		for i, w := range weights {
			total += float64(w) * float64(terms[i][0])
		}
		y[0] = float32(total)
	}
}

// seed returns the weight of a loss, times the gradient scaler's scale if there is
// one.
func (b *elementwise) seed(weight float32) func() {
	y := b.out(0)
	if len(b.current.In) == 0 {
		return func() { y[0] = weight }
	}
	scale := b.in(0)
	return func() { y[0] = weight * scale[0] }
}

// place computes y[i, j] = x[i−Top, j−Left] where that exists, else 0, for each
// plane.
func (b *elementwise) place(op nn.Place) func() {
	n, h, w := planes(b.inShape(0))
	outH, outW := b.outShape(0).Plane()
	x, y := b.in(0), b.out(0)
	set, rows, columns := b.backend.set, span{-op.Top, 1}.within(outH, h), span{-op.Left, 1}.within(outW, w)
	var done atomic.Int64
	all := b.rows(n*outH, outW, func(lo, hi int) {
		done.Add(int64(hi - lo))
		for lo < hi {
			p, row := lo/outH, lo%outH
			count := min(hi-lo, outH-row)
			packPlane(set, y[lo*outW:][:count*outW], x[p*h*w:][:h*w], span{row - op.Top, 1}.within(count, h),
				columns, outW, w)
			lo += count
		}
	})
	id, across := b.current.Out[0], columns.hi-columns.lo
	high := rows.hi - rows.lo
	writers := 0
	for i := range b.plan.Steps {
		if slices.Contains(b.plan.Steps[i].Out, id) {
			writers++
		}
	}
	if out := b.buffer(id); writers > 1 || !out.Pinned || out.DType != tensor.Float32 || high == 0 || across == 0 {
		return all
	}
	// No other buffer has a pinned one's memory, so that the zeros of one run are those of the next.
	within := b.rows(n*high, across, func(lo, hi int) {
		for lo < hi {
			p, row := lo/high, rows.lo+lo%high
			count := min(hi-lo, rows.hi-row)
			elements.CopyRows(set, y[(p*outH+row)*outW+columns.lo:], outW, x[(p*h+row-op.Top)*w+columns.lo-op.Left:], w,
				count, across)
			lo += count
		}
	})
	version, users, bordered, seen := &b.written[id], b.users, false, uint32(0)
	return func() {
		if bordered && *users == 1 && *version == seen {
			within()
			return
		}
		done.Store(0)
		all()
		bordered, seen = done.Load() == int64(n*outH), *version // an interrupted loop leaves some out
	}
}

// concat copies the inputs' channels one after the other.
func (b *elementwise) concat() func() {
	to := b.outShape(0)
	plane, y := to[2]*to[3], b.out(0)
	inputs := make([][]float32, len(b.current.In))
	sizes := make([]int, len(inputs))
	for i := range inputs {
		inputs[i], sizes[i] = b.in(i), b.inShape(i)[1]*plane
	}
	return func() {
		at := 0
		for n := range to[0] {
			for i, x := range inputs {
				at += copy(y[at:], x[n*sizes[i]:][:sizes[i]])
			}
		}
	}
}

// channels copies the channels from … of each image.
func (b *elementwise) channels(from int) func() {
	s, to := b.inShape(0), b.outShape(0)
	x, y, plane := b.in(0), b.out(0), s[2]*s[3]
	return func() {
		for n := range s[0] {
			copy(y[n*to[1]*plane:][:to[1]*plane], x[(n*s[1]+from)*plane:])
		}
	}
}

// Slopes and factors of the activations (spec/prism.md §1.3).
const (
	leakySlope  = 0.2
	sigmoidGain = 1.02 // of ScaleSigmoid
	sigmoidDrop = 0.01
)

// activations and their gradients, each y[i] = f(x[i]) or gx[i] = gy[i]·f′ as a
// function of y = f(x).
var activations = map[nn.ActivationKind]struct {
	forward  func(set vec.Set, y, x []float32)
	gradient func(set vec.Set, gx, y, gy []float32)
}{
	nn.ReLU:         {elements.ReLU, elements.ReLUGrad},
	nn.LeakyReLU:    {leakyReLU, leakyReLUGrad},
	nn.Sigmoid:      {elements.Sigmoid, sigmoidGrad},
	nn.HardSigmoid:  {hardSigmoid, hardSigmoidGrad},
	nn.ScaleSigmoid: {scaleSigmoid, scaleSigmoidGrad},
	nn.Tanh:         {elements.Tanh, tanhGrad},
}

func (b *elementwise) activation(kind nn.ActivationKind) func() {
	f, set := activations[kind], b.backend.set
	return b.unary(func(y, x []float32) { f.forward(set, y, x) })
}

// unary returns a closure that computes y = f(x). Results and operands of 16 bit are converted in pieces.
func (b *elementwise) unary(f func(y, x []float32)) func() {
	x, y, n, set := b.inValues(0), b.outValues(0), b.inShape(0).Elements(), b.backend.set
	if x.F != nil && y.F != nil {
		return b.each(n, grain, func(lo, hi int) { f(y.F[lo:hi], x.F[lo:hi]) })
	}
	piece := min(grain/2, n)
	return b.shared((n+piece-1)/piece, 2*piece, piece, func(scratch []float32, lo, hi int) {
		for at := lo * piece; at < min(hi*piece, n); at += piece {
			count := min(piece, n-at)
			to := y.Results(scratch[piece:], at, count)
			f(to, x.Read(set, scratch, at, count))
			y.Write(set, to, at)
		}
	})
}

func (b *elementwise) activationGrad(kind nn.ActivationKind) func() {
	f := activations[kind]
	y, gy, gx, set := b.in(0), b.in(1), b.out(0), b.backend.set
	return b.each(len(y), grain, func(lo, hi int) { f.gradient(set, gx[lo:hi], y[lo:hi], gy[lo:hi]) })
}

func leakyReLU(_ vec.Set, y, x []float32) {
	for i, v := range x[:len(y)] {
		if v < 0 {
			v *= leakySlope
		}
		y[i] = v
	}
}

func leakyReLUGrad(_ vec.Set, gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, v := range gy {
		if y[i] <= 0 {
			v *= leakySlope
		}
		gx[i] = v
	}
}

func sigmoidGrad(_ vec.Set, gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, s := range y {
		gx[i] = gy[i] * s * (1 - s)
	}
}

func hardSigmoid(_ vec.Set, y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] = min(max(v/6+0.5, 0), 1)
	}
}

func hardSigmoidGrad(_ vec.Set, gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, s := range y {
		gx[i] = 0
		if s > 0 && s < 1 {
			gx[i] = gy[i] / 6
		}
	}
}

func scaleSigmoid(_ vec.Set, y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] = float32(elements.Logistic(v)*sigmoidGain - sigmoidDrop)
	}
}

func scaleSigmoidGrad(_ vec.Set, gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, v := range y {
		s := (v + sigmoidDrop) * (1 / sigmoidGain)
		gx[i] = gy[i] * sigmoidGain * s * (1 - s)
	}
}

func tanhGrad(_ vec.Set, gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, t := range y {
		gx[i] = gy[i] * (1 - t*t)
	}
}
