package cpu

import (
	"math"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/nn"
)

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
	nn.ReLU:         {vec.Set.ReLU, vec.Set.ReLUGrad},
	nn.LeakyReLU:    {leakyReLU, leakyReLUGrad},
	nn.Sigmoid:      {sigmoid, sigmoidGrad},
	nn.HardSigmoid:  {hardSigmoid, hardSigmoidGrad},
	nn.ScaleSigmoid: {scaleSigmoid, scaleSigmoidGrad},
	nn.Tanh:         {tanh, tanhGrad},
}

func (b *binder) activation(kind nn.ActivationKind) func() {
	if !b.operands(1, 1, 1) || !b.sameShape(b.inShape(0), b.outShape(0)) {
		return nil
	}
	f, ok := activations[kind]
	if !ok {
		return b.fail("no activation of kind %d", kind)
	}
	x, y, set := b.in(0), b.out(0), b.backend.set
	return b.each(len(x), grain, func(lo, hi int) { f.forward(set, y[lo:hi], x[lo:hi]) })
}

func (b *binder) activationGrad(kind nn.ActivationKind) func() {
	if !b.operands(2, 2, 1) || !b.sameShape(b.inShape(0), b.inShape(1), b.outShape(0)) {
		return nil
	}
	f, ok := activations[kind]
	if !ok {
		return b.fail("no activation of kind %d", kind)
	}
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

func logistic(x float32) float64 { return 1 / (1 + math.Exp(-float64(x))) }

func sigmoid(_ vec.Set, y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] = float32(logistic(v))
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
		y[i] = float32(logistic(v)*sigmoidGain - sigmoidDrop)
	}
}

func scaleSigmoidGrad(_ vec.Set, gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, v := range y {
		s := (v + sigmoidDrop) * (1 / sigmoidGain)
		gx[i] = gy[i] * sigmoidGain * s * (1 - s)
	}
}

func tanh(_ vec.Set, y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] = float32(math.Tanh(float64(v)))
	}
}

func tanhGrad(_ vec.Set, gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, t := range y {
		gx[i] = gy[i] * (1 - t*t)
	}
}
