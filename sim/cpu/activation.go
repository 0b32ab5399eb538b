package cpu

import (
	"math"

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
	forward  func(y, x []float32)
	gradient func(gx, y, gy []float32)
}{
	nn.ReLU:         {relu, reluGrad},
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
	x, y := b.in(0), b.out(0)
	return b.each(len(x), grain, func(lo, hi int) { f.forward(y[lo:hi], x[lo:hi]) })
}

func (b *binder) activationGrad(kind nn.ActivationKind) func() {
	if !b.operands(2, 2, 1) || !b.sameShape(b.inShape(0), b.inShape(1), b.outShape(0)) {
		return nil
	}
	f, ok := activations[kind]
	if !ok {
		return b.fail("no activation of kind %d", kind)
	}
	y, gy, gx := b.in(0), b.in(1), b.out(0)
	return b.each(len(y), grain, func(lo, hi int) { f.gradient(gx[lo:hi], y[lo:hi], gy[lo:hi]) })
}

// relu is max(x, 0); a NaN stays one.
func relu(y, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] = max(x[i], 0)
	}
}

// reluGrad is gy where y > 0, else 0. Signs of random data defeat the
// branch predictor, hence the mask.
func reluGrad(gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i := range gx {
		v := int32(math.Float32bits(y[i]))
		gx[i] = math.Float32frombits(math.Float32bits(gy[i]) & uint32((^v&-(v&math.MaxInt32))>>31))
	}
}

func leakyReLU(y, x []float32) {
	for i, v := range x[:len(y)] {
		if v < 0 {
			v *= leakySlope
		}
		y[i] = v
	}
}

func leakyReLUGrad(gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, v := range gy {
		if y[i] <= 0 {
			v *= leakySlope
		}
		gx[i] = v
	}
}

func logistic(x float32) float64 { return 1 / (1 + math.Exp(-float64(x))) }

func sigmoid(y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] = float32(logistic(v))
	}
}

func sigmoidGrad(gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, s := range y {
		gx[i] = gy[i] * s * (1 - s)
	}
}

func hardSigmoid(y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] = min(max(v/6+0.5, 0), 1)
	}
}

func hardSigmoidGrad(gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, s := range y {
		gx[i] = 0
		if s > 0 && s < 1 {
			gx[i] = gy[i] / 6
		}
	}
}

func scaleSigmoid(y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] = float32(logistic(v)*sigmoidGain - sigmoidDrop)
	}
}

func scaleSigmoidGrad(gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, v := range y {
		s := (v + sigmoidDrop) * (1 / sigmoidGain)
		gx[i] = gy[i] * sigmoidGain * s * (1 - s)
	}
}

func tanh(y, x []float32) {
	for i, v := range x[:len(y)] {
		y[i] = float32(math.Tanh(float64(v)))
	}
}

func tanhGrad(gx, y, gy []float32) {
	y, gy = y[:len(gx)], gy[:len(gx)]
	for i, t := range y {
		gx[i] = gy[i] * (1 - t*t)
	}
}
