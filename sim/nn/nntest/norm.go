package nntest

import (
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

const bnEps, bnMomentum = 1e-5, 0.1

func normCases() []testCase {
	var cases []testCase
	shapes := []tensor.Shape{{1, 5, 7, 9}, {2, 3, 4, 5}, {1, 32, 4, 4}, {3, 1, 1, 2}, {1, 2, 80, 70}}
	for i, shape := range shapes {
		for _, d := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
			s := newSource(uint64(100 + i))
			x, gy := s.normal(d, shape...), s.normal(d, shape...)
			for k := range x.Values {
				x.Values[k] = 3*x.Values[k] + 1.5
			}
			round(d, x.Values)
			c := shape[1]
			gamma, beta := s.uniform(0.5, 1.5, c), s.normal(tensor.Float32, c)
			mean, variance := s.normal(tensor.Float32, c), s.uniform(0.5, 2, c)
			b := batch{shape, x.Values}
			for _, relu := range []bool{false, true} {
				cases = append(cases,
					b.train(d, relu, x, gamma, beta, mean, variance),
					b.evaluate(d, relu, x, gamma, beta, mean, variance),
					b.gradient(d, relu, x, gy, gamma, beta))
			}
			cases = append(cases, b.biasGrad(d, gy))
		}
	}
	return cases
}

// batch is an image whose channels are normalised.
type batch struct {
	shape  tensor.Shape
	values []float32
}

func (b batch) channel(i int) int { return i / (b.shape[2] * b.shape[3]) % b.shape[1] }
func (b batch) count() float64    { return float64(b.shape[0] * b.shape[2] * b.shape[3]) }

// totals returns the sum of f(i) per channel.
func (b batch) totals(f func(i int) float64) []float64 {
	t := make([]float64, b.shape[1])
	for i := range b.values {
		t[b.channel(i)] += f(i)
	}
	return t
}

func (b batch) moments() (mean, variance, inverse []float64) {
	mean = b.totals(func(i int) float64 { return float64(b.values[i]) / b.count() })
	variance = b.totals(func(i int) float64 {
		d := float64(b.values[i]) - mean[b.channel(i)]
		return d * d / b.count()
	})
	for _, v := range variance {
		inverse = append(inverse, 1/math.Sqrt(v+bnEps))
	}
	return mean, variance, inverse
}

// passed applies a ReLU to v.
func passed(relu bool, v float64) float64 {
	if relu {
		return max(v, 0)
	}
	return v
}

func (b batch) train(d tensor.DType, relu bool, x, gamma, beta, runningMean, runningVar Array) testCase {
	mean, variance, inverse := b.moments()
	y := make([]float64, len(b.values))
	for i, v := range b.values {
		c := b.channel(i)
		y[i] = passed(relu, (float64(v)-mean[c])*inverse[c]*float64(gamma.Values[c])+float64(beta.Values[c]))
	}
	newMean, newVar := make([]float64, len(mean)), make([]float64, len(mean))
	for c := range mean {
		newMean[c] = (1-bnMomentum)*float64(runningMean.Values[c]) + bnMomentum*mean[c]
		newVar[c] = (1-bnMomentum)*float64(runningVar.Values[c]) + bnMomentum*variance[c]*b.count()/(b.count()-1)
	}
	vector := tensor.Shape{b.shape[1]}
	// Subtracting the mean from nearly equal inputs loses digits: hence more than
	// a few roundings.
	const tolerance = 2e-6
	return testCase{
		name: fmt.Sprintf("BN %v %v, ReLU %v", b.shape, d, relu),
		op:   nn.BatchNorm{Eps: bnEps, Momentum: bnMomentum, Train: true, ReLU: relu},
		in:   []Array{x, gamma, beta, runningMean, runningVar},
		out: []Result{{Shape: b.shape, DType: d}, {Shape: vector}, {Shape: vector},
			{InPlace: true, Input: 3}, {InPlace: true, Input: 4}},
		want: []reference{{y, 0, tolerance}, {mean, 0, tolerance}, {inverse, 0, tolerance},
			{newMean, 0, tolerance}, {newVar, 0, tolerance}},
	}
}

func (b batch) evaluate(d tensor.DType, relu bool, x, gamma, beta, mean, variance Array) testCase {
	y := make([]float64, len(b.values))
	for i, v := range b.values {
		c := b.channel(i)
		y[i] = passed(relu, (float64(v)-float64(mean.Values[c]))/math.Sqrt(float64(variance.Values[c])+bnEps)*
			float64(gamma.Values[c])+float64(beta.Values[c]))
	}
	return testCase{
		name: fmt.Sprintf("BN evaluating %v %v, ReLU %v", b.shape, d, relu),
		op:   nn.BatchNorm{Eps: bnEps, Momentum: bnMomentum, ReLU: relu},
		in:   []Array{x, gamma, beta, mean, variance},
		out:  []Result{{Shape: b.shape, DType: d}},
		want: []reference{{y, 0, 1e-6}},
	}
}

func (b batch) gradient(d tensor.DType, relu bool, x, gy, gamma, beta Array) testCase {
	mean, _, inverse := b.moments()
	saved := func(v []float64) Array {
		a := Array{Shape: tensor.Shape{len(v)}, Values: make([]float32, len(v))}
		for i := range v {
			a.Values[i] = float32(v[i])
		}
		return a
	}
	normalised := func(i int) float64 {
		c := b.channel(i)
		return (float64(b.values[i]) - mean[c]) * inverse[c]
	}
	upstream := func(i int) float64 {
		if c := b.channel(i); relu && normalised(i)*float64(gamma.Values[c])+float64(beta.Values[c]) <= 0 {
			return 0
		}
		return float64(gy.Values[i])
	}
	gbeta := b.totals(upstream)
	ggamma := b.totals(func(i int) float64 { return upstream(i) * normalised(i) })
	gx := make([]float64, len(b.values))
	for i := range gx {
		c := b.channel(i)
		gx[i] = float64(gamma.Values[c]) * inverse[c] *
			(upstream(i) - gbeta[c]/b.count() - normalised(i)*ggamma[c]/b.count())
	}
	vector := tensor.Shape{b.shape[1]}
	in := []Array{x, gy, gamma, saved(mean), saved(inverse)}
	if relu {
		in = append(in, beta)
	}
	return testCase{
		name: fmt.Sprintf("BN grad %v %v, ReLU %v", b.shape, d, relu),
		op:   nn.BatchNormGrad{ReLU: relu},
		in:   in,
		out:  []Result{{Shape: b.shape, DType: d}, {Shape: vector}, {Shape: vector}},
		// Two values per channel cancel exactly, so the terms set the scale.
		want: []reference{{gx, 10, 1e-6}, {ggamma, 10, 1e-6}, {gbeta, 10, 1e-6}},
	}
}

func (b batch) biasGrad(d tensor.DType, gy Array) testCase {
	want := batch{b.shape, gy.Values}.totals(func(i int) float64 { return float64(gy.Values[i]) })
	return testCase{
		name: fmt.Sprintf("bias grad %v %v", b.shape, d),
		op:   nn.BiasGrad{}, in: []Array{gy}, out: []Result{{Shape: tensor.Shape{b.shape[1]}}},
		want: []reference{{want, 0, 1e-6}},
	}
}
