package ptycho

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"

	"prismtop/sim/ptycho/scan"
)

// Truth is the part of a known object that a reassembled canvas shows: the largest
// central square of the canvas on which every pixel lies under a patch.
type Truth struct {
	Side    int // of the square
	Values  []complex64
	Unknown bool // there is none: Values are 0, and the square is the whole canvas

	margin, canvas int // pixels of the canvas around it, and the side of the canvas
}

// leastTruth is the side of the smallest square on which pictures are compared: the
// window of SSIM.
const leastTruth = 11

// NewTruth cuts the truth for the canvas of groups of n×n pixels with the given centres.
// It is an error if they leave pixels near the middle uncovered. Without an object the truth is unknown.
func NewTruth(o *scan.Object, n int, centres [][2]float64) (*Truth, error) {
	ones := make([]complex64, len(centres)*n*n)
	for i := range ones {
		ones[i] = 1
	}
	a, err := NewAssembly(centres)
	if err == nil {
		err = a.Add(ones, n)
	}
	if err != nil {
		return nil, err
	}
	covered := a.Canvas()
	if o == nil {
		return &Truth{Side: covered.Side, canvas: covered.Side, Values: make([]complex64, covered.Side*covered.Side),
			Unknown: true}, nil
	}
	t := &Truth{Side: covered.Side - 2*covered.gap(), canvas: covered.Side}
	t.margin = (t.canvas - t.Side) / 2
	if t.Side < leastTruth {
		return nil, fmt.Errorf("compare with the truth: %d positions leave gaps between their patches: only %d×%[2]d "+
			"pixels in the middle are covered: must be more positions on the object",
			len(centres), max(t.Side, 0))
	}
	t.Values = a.Truth(o, t.margin)
	return t, nil
}

// gap returns the width of the frame of a canvas of ones in which pixels are uncovered.
func (c *Canvas) gap() int {
	const half = 0.5 // of a weight that is 1, or next to 0
	frame := 0
	for i, z := range c.Object {
		if y, x := i/c.Side, i%c.Side; real(z) < half {
			frame = max(frame, 1+min(y, x, c.Side-1-y, c.Side-1-x))
		}
	}
	return frame
}

// Alignment is a reassembled object on the square of a Truth, after a factor that
// diffraction does not show: the complex number with which it comes closest to the truth.
type Alignment struct {
	Values     []complex64
	Error      float64 // root mean square distance from the truth over the truth's root mean square
	PhaseError float64 // root mean square difference of the phases, radians, where the truth is not 0
}

// Align compares a canvas of the groups of NewTruth with the truth. An unknown truth leaves it as it is, without
// errors.
func (t *Truth) Align(c *Canvas) (*Alignment, error) {
	if c.Side != t.canvas {
		return nil, errors.New("align with the truth: the canvas is of other groups")
	}
	a := &Alignment{Values: make([]complex64, len(t.Values))}
	var product complex128
	energy, all := 0.0, 0.0
	for i := range a.Values {
		v := c.Object[(t.margin+i/t.Side)*c.Side+t.margin+i%t.Side]
		a.Values[i] = v
		product += cmplx.Conj(complex128(v)) * complex128(t.Values[i])
		energy += square(v)
		all += square(t.Values[i])
	}
	if t.Unknown {
		a.Error, a.PhaseError = math.NaN(), math.NaN()
		return a, nil
	}
	factor := complex128(0)
	if energy > 0 {
		factor = product / complex(energy, 0)
	}
	distance, phases, counted := 0.0, 0.0, 0
	for i, v := range a.Values {
		a.Values[i] = complex64(complex128(v) * factor)
		distance += square(a.Values[i] - t.Values[i])
		if t.Values[i] != 0 {
			phases += math.Pow(a.PhaseAt(t, i), 2)
			counted++
		}
	}
	a.Error, a.PhaseError = math.Sqrt(distance/all), math.Sqrt(phases/float64(counted))
	return a, nil
}

// PhaseAt returns the phase of pixel i less that of the truth, if it is known, in (−π, π].
func (a *Alignment) PhaseAt(t *Truth, i int) float64 {
	if t.Unknown {
		return cmplx.Phase(complex128(a.Values[i]))
	}
	return cmplx.Phase(complex128(a.Values[i]) * cmplx.Conj(complex128(t.Values[i])))
}

func square(z complex64) float64 {
	return float64(real(z))*float64(real(z)) + float64(imag(z))*float64(imag(z))
}
