package fold_test

import (
	"math"
	"strings"
	"testing"

	"prismtop/sim/nn/fold"
	"prismtop/sim/tensor"
)

// A 1×1 convolution is a matrix: y[o] = Σ w[o][i]·x[i] + bias[o].
func TestAFoldedConvolutionNormalises(t *testing.T) {
	x := []float64{0.5, -2, 3}
	n := fold.Normalisation{
		Gamma: []float32{1.5, -0.25}, Beta: []float32{0.1, 2}, Mean: []float64{4, -3}, Variance: []float64{0.04, 9}, Eps: 1e-5,
	}
	for _, axis := range []int{0, 1} {
		for _, bias := range [][]float32{nil, {0.75, -8}} {
			shape := tensor.Shape{2, 3, 1, 1}
			at := func(o, i int) int { return o*3 + i }
			if axis == 1 {
				shape = tensor.Shape{3, 2, 1, 1}
				at = func(o, i int) int { return i*2 + o }
			}
			weight := []float32{1, -2, 0.5, 4, 0.25, -1}
			w, b, err := fold.Convolution(weight, shape, axis, bias, n)
			if err != nil {
				t.Fatal(err)
			}
			for o := range 2 {
				sum, folded := 0.0, float64(b[o])
				if bias != nil {
					sum = float64(bias[o])
				}
				for i, v := range x {
					sum += float64(weight[at(o, i)]) * v
					folded += float64(w[at(o, i)]) * v
				}
				want := float64(n.Gamma[o])*(sum-n.Mean[o])/math.Sqrt(n.Variance[o]+n.Eps) + float64(n.Beta[o])
				if math.Abs(folded-want) > 1e-5*math.Abs(want) { // a few roundings to float32
					t.Errorf("axis %d, bias %v, channel %d: %g, want %g", axis, bias, o, folded, want)
				}
			}
		}
	}
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	one := fold.Normalisation{Gamma: []float32{1}, Beta: []float32{0}, Mean: []float64{0}, Variance: []float64{1}}
	for _, test := range []struct {
		weights, axis int
		bias          []float32
		want          string
	}{
		{5, 0, nil, "5 weights of shape 1x2x1x1"},
		{2, 4, nil, "axis 4"},
		{2, 1, nil, "1 channels after a convolution with 2"},
		{2, 0, []float32{1, 2}, "a bias of 2 channels for 1"},
	} {
		_, _, err := fold.Convolution(make([]float32, test.weights), tensor.Shape{1, 2, 1, 1}, test.axis, test.bias, one)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
