package optics

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
	// Faithful reproduces PRISM's output: shot noise turns the amplitude into an
	// intensity, although the prediction is an amplitude, and readout noise may
	// make it negative. Otherwise the result is an amplitude again: the square
	// root of that intensity, and never negative (spec/prism.md §9.2).
	Faithful bool
	// Seed of the noise; the same seed gives the same noise in the same order.
	Seed uint64
}

// Noise adds detector noise to measurements. It is not safe for concurrent use.
type Noise struct {
	options       NoiseOptions
	shot, readout bool
	source        *rand.PCG // of random
	random        *rand.Rand
	normal        []float32
}

// noiseStream separates the noise's random numbers from others of the same seed.
const noiseStream = 0x6e6f697365

// State is where the random numbers stand; SetState goes back there. Both do nothing to a nil
// Noise.
func (n *Noise) State() (s rand.PCG) {
	if n != nil {
		s = *n.source
	}
	return s
}

// SetState goes on with the random numbers from a State.
func (n *Noise) SetState(s rand.PCG) {
	if n != nil {
		*n.source = s
	}
}

// NewNoise makes a noise model; it returns nil for the kind none. A nil Noise
// adds nothing.
func NewNoise(o NoiseOptions) (*Noise, error) {
	source := rand.NewPCG(o.Seed, noiseStream)
	n := &Noise{options: o, source: source, random: rand.New(source)}
	switch strings.ToLower(o.Kind) {
	case "", "none":
		return nil, nil
	case "shot", "poisson": // PRISM uses one formula for both
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

// noisePart is the number of values drawn between checks of the context.
const noisePart = 1 << 20

// Apply writes src with fresh noise to dst, which may be src. The only error is that
// of a context that ends first.
func (n *Noise) Apply(ctx context.Context, dst, src []float32) error {
	copy(dst, src)
	if n == nil {
		return nil
	}
	if n.shot {
		if err := n.applyShot(ctx, dst); err != nil {
			return err
		}
	}
	if n.readout {
		return n.applyReadout(ctx, dst)
	}
	return nil
}

// applyShot computes max(0, x² + g·x/√snr), with g a normal field divided by its
// own standard deviation.
func (n *Noise) applyShot(ctx context.Context, x []float32) error {
	g, deviation, err := n.draw(ctx, len(x))
	if err != nil {
		return err
	}
	scale := 1 / (deviation * math.Sqrt(math.Pow(10, n.options.SNR/10)))
	for i, v := range x {
		amplitude := float64(v)
		intensity := max(0, amplitude*amplitude+float64(g[i])*scale*amplitude)
		if !n.options.Faithful {
			intensity = math.Sqrt(intensity)
		}
		x[i] = float32(intensity)
	}
	return ctx.Err()
}

func (n *Noise) applyReadout(ctx context.Context, x []float32) error {
	for part := range slices.Chunk(x, noisePart) {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i, v := range part {
			y := float64(v) + n.options.ReadoutSigma*n.random.NormFloat64()
			if !n.options.Faithful {
				y = max(0, y)
			}
			part[i] = float32(y)
		}
	}
	return nil
}

// draw returns count normal numbers and their unbiased standard deviation, or 1
// if that is undefined.
func (n *Noise) draw(ctx context.Context, count int) (g []float32, deviation float64, err error) {
	if cap(n.normal) < count {
		n.normal = make([]float32, count)
	}
	g = n.normal[:count]
	var sum float64
	for part := range slices.Chunk(g, noisePart) {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		for i := range part {
			part[i] = float32(n.random.NormFloat64())
			sum += float64(part[i])
		}
	}
	mean := sum / float64(count)
	var squares float64
	for _, v := range g {
		d := float64(v) - mean
		squares += d * d
	}
	deviation = math.Sqrt(squares / float64(count-1))
	if !(deviation > 0) {
		return g, 1, ctx.Err()
	}
	return g, deviation, ctx.Err()
}
