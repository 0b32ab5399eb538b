package optics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// NoiseOptions describe a detector's noise (spec/prism.md §2.5).
type NoiseOptions struct {
	// Kind is none, shot, poisson, readout or composite (shot, then readout).
	Kind string
	// SNR of shot and poisson noise in dB, referred to an amplitude of 1.
	SNR float64
	// ReadoutSigma is the standard deviation of readout noise.
	ReadoutSigma float64
	// Faithful gives PRISM's output: shot noise turns the amplitude into an
	// intensity, which then meets a prediction that is an amplitude, and readout
	// noise may go below 0. Otherwise the result is an amplitude again: the square
	// root of that intensity, and never below 0 (spec/prism.md §9.2).
	Faithful bool
	// Seed of the noise; the same seed gives the same noise in the same order.
	Seed uint64
}

// Noise adds detector noise to measurements. It is used by one goroutine.
type Noise struct {
	options       NoiseOptions
	shot, readout bool
	random        *rand.Rand
	normal        []float32
}

// noiseStream separates the noise's random numbers from others of the same seed.
const noiseStream = 0x6e6f697365

// NewNoise makes a noise model; it is nil for the kind none, and a nil Noise adds
// nothing.
func NewNoise(o NoiseOptions) (*Noise, error) {
	n := &Noise{options: o, random: rand.New(rand.NewPCG(o.Seed, noiseStream))}
	switch strings.ToLower(o.Kind) {
	case "", "none":
		return nil, nil
	case "shot", "poisson": // PRISM has one formula for both
		n.shot = true
	case "readout":
		n.readout = true
	case "composite":
		n.shot, n.readout = true, true
	default:
		return nil, fmt.Errorf("noise = %q: must be none, shot, poisson, readout or composite", o.Kind)
	}
	if n.shot && (math.IsNaN(o.SNR) || math.IsInf(o.SNR, 0)) {
		return nil, fmt.Errorf("snr = %g: must be a finite number of dB", o.SNR)
	}
	if n.readout && (!(o.ReadoutSigma >= 0) || math.IsInf(o.ReadoutSigma, 0)) {
		return nil, fmt.Errorf("readout_sigma = %g: must be 0 or more", o.ReadoutSigma)
	}
	return n, nil
}

// Apply writes src with fresh noise to dst, which may be src.
func (n *Noise) Apply(dst, src []float32) {
	copy(dst, src)
	if n == nil {
		return
	}
	if n.shot {
		n.applyShot(dst)
	}
	if n.readout {
		n.applyReadout(dst)
	}
}

// applyShot is max(0, x² + g·x/√snr), with g a normal field divided by its own
// standard deviation.
func (n *Noise) applyShot(x []float32) {
	g, deviation := n.draw(len(x))
	scale := 1 / (deviation * math.Sqrt(math.Pow(10, n.options.SNR/10)))
	for i, v := range x {
		amplitude := float64(v)
		intensity := max(0, amplitude*amplitude+float64(g[i])*scale*amplitude)
		if !n.options.Faithful {
			intensity = math.Sqrt(intensity)
		}
		x[i] = float32(intensity)
	}
}

func (n *Noise) applyReadout(x []float32) {
	for i, v := range x {
		y := float64(v) + n.options.ReadoutSigma*n.random.NormFloat64()
		if !n.options.Faithful {
			y = max(0, y)
		}
		x[i] = float32(y)
	}
}

// draw gives count normal numbers and their unbiased standard deviation, 1 where
// there is none.
func (n *Noise) draw(count int) (g []float32, deviation float64) {
	if cap(n.normal) < count {
		n.normal = make([]float32, count)
	}
	g = n.normal[:count]
	var sum float64
	for i := range g {
		g[i] = float32(n.random.NormFloat64())
		sum += float64(g[i])
	}
	mean := sum / float64(count)
	var squares float64
	for _, v := range g {
		d := float64(v) - mean
		squares += d * d
	}
	deviation = math.Sqrt(squares / float64(count-1))
	if !(deviation > 0) {
		return g, 1
	}
	return g, deviation
}
