package ptycho

import (
	"errors"
	"math"

	"prismtop/sim/nn"
)

// probeScale is the factor by which a network's probe is smaller than one of mean
// modulus 1 (§A1.5).
const probeScale = 4

// ScaledProbe returns a probe of n×n as the input of a training plan: divided by
// probeScale times the mean, over all pixels, of its modulus within n/4 of the centre.
func ScaledProbe(probe []complex64, n int) ([]float32, error) {
	if len(probe) != n*n {
		return nil, errors.New("scale a probe: it does not have the size of the patterns")
	}
	total := 0.0
	for i, v := range probe {
		if inDisc(i, n) {
			total += math.Hypot(float64(real(v)), float64(imag(v)))
		}
	}
	factor := float64(n*n) / (probeScale * total)
	if !(factor > 0) || math.IsInf(factor, 0) {
		return nil, errors.New("scale a probe: its modulus is 0 or not finite near the centre")
	}
	scaled := make([]float32, 2*n*n)
	for i, v := range probe {
		scaled[i], scaled[n*n+i] = float32(float64(real(v))*factor), float32(float64(imag(v))*factor)
	}
	return scaled, nil
}

// inDisc reports whether pixel i of n×n is closer than n/4 to the centre between pixels.
func inDisc(i, n int) bool {
	y, x := float64(i/n)-float64(n-1)/2, float64(i%n)-float64(n-1)/2
	return math.Hypot(x, y) < float64(n)/4
}

// IntensityScale is the factor by which normalised amplitudes of n×n pixels are
// multiplied so that a pattern has the given number of photons: √photons/(n/2).
func IntensityScale(photons float64, n int) float64 { return math.Sqrt(photons) / (float64(n) / 2) }

// SetScale writes the factor by which the network's input is multiplied to a state.
func (n *Network) SetScale(s nn.State, scale float64) {
	i, _ := n.model.Index(scaleParameter)
	s.Write(i, []float32{float32(math.Log(scale))})
}
