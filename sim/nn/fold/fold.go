// Package fold merges batch normalisations into the convolutions before them. With fixed statistics a
// normalisation is one affine map for each channel, and so is a bias: a convolution with other weights and a
// bias computes both.
package fold

import (
	"fmt"
	"math"

	"prismtop/sim/tensor"
)

// Normalisation is a batch normalisation with fixed statistics, of one value for each channel:
// y = gamma·(x − mean)/√(variance + eps) + beta.
type Normalisation struct {
	Gamma, Beta    []float32
	Mean, Variance []float64
	Eps            float64
}

// Convolution returns the weights and the bias of the convolution that computes one of these weights, with a
// bias or nil, followed by the normalisation. The output channels are on the given axis of the weights: 0 for
// Conv2D, 1 for ConvTranspose2D. It computes in float64 and rounds once.
func Convolution(weight []float32, shape tensor.Shape, axis int, bias []float32, n Normalisation) (w, b []float32,
	err error) {
	if axis < 0 || axis >= len(shape) || shape.Elements() != len(weight) {
		return nil, nil, fmt.Errorf("fold: %d weights of shape %v with channels on axis %d", len(weight), shape, axis)
	}
	channels := shape[axis]
	for _, length := range []int{len(n.Gamma), len(n.Beta), len(n.Mean), len(n.Variance)} {
		if length != channels {
			return nil, nil, fmt.Errorf("fold: a normalisation of %d channels after a convolution with %d", length,
				channels)
		}
	}
	if bias != nil && len(bias) != channels {
		return nil, nil, fmt.Errorf("fold: a bias of %d channels for %d", len(bias), channels)
	}
	factors := make([]float64, channels)
	b = make([]float32, channels)
	for c := range channels {
		factors[c] = float64(n.Gamma[c]) / math.Sqrt(n.Variance[c]+n.Eps)
		x := -n.Mean[c]
		if bias != nil {
			x += float64(bias[c])
		}
		b[c] = float32(float64(n.Beta[c]) + factors[c]*x)
	}
	run := 1 // of weights in a row that belong to one channel
	for _, d := range shape[axis+1:] {
		run *= d
	}
	w = make([]float32, len(weight))
	for i, v := range weight {
		w[i] = float32(factors[i/run%channels] * float64(v))
	}
	return w, b, nil
}
