package scan

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Options describe a simulated scan.
type Options struct {
	Size       int     // N, the side of a pattern: even
	ObjectSize int     // side of the object, at least 2·N
	Positions  int     // number of patterns
	Photons    float64 // mean number of photons of a pattern
	Phase      bool    // the object also shifts the phase
	Curvature  float64 // radians by which the beam's phase rises from its centre to its edge
	Seed       uint64
}

// bufferShare is the share of the object's side that positions keep from its edge.
const bufferShare = 0.35

// Defocus is the curvature of the beam of this program's own scans. Under the flat, symmetric default
// probe an object and its twin, inverted and conjugated, have the same diffraction.
const Defocus = 3

// maxCurvature bounds the curvature of a beam, whose phase must not change by more than
// half a turn between two pixels.
const maxCurvature = 10

// maxSide bounds the sides of a simulation, maxPositions the number of patterns, against
// typing errors.
const (
	maxSide      = 4096
	maxPositions = 1 << 20
)

func (o Options) check() error {
	switch {
	case o.Size < 8 || o.Size > maxSide/2 || o.Size%2 != 0:
		return fmt.Errorf("size = %d: must be even and from 8 to %d", o.Size, maxSide/2)
	case o.ObjectSize < 2*o.Size || o.ObjectSize > maxSide:
		return fmt.Errorf("object_size = %d: must be from 2·size, %d, to %d", o.ObjectSize, 2*o.Size, maxSide)
	case o.Positions < 1 || o.Positions > maxPositions:
		return fmt.Errorf("positions = %d: must be from 1 to %d", o.Positions, maxPositions)
	case !(math.Abs(o.Curvature) <= maxCurvature):
		return fmt.Errorf("probe_curvature = %g: must be from -%d to %[2]d", o.Curvature, maxCurvature)
	case !(o.Photons >= 1) || o.Photons > 1e15:
		return fmt.Errorf("photons = %g: must be from 1 to 1e15", o.Photons)
	}
	return nil
}

// Streams of random numbers of one seed.
const (
	objectStream = iota + 1
	positionStream
	photonStream
)

// Simulate draws an object of lines, scans it at random positions with the default probe,
// and draws the photons that a detector counts in the far field (§A3.2). Diffraction is
// computed on the backend. The amplitudes are those of the field before it was scaled to
// the number of photons.
func Simulate(ctx context.Context, o Options, backend nn.Backend) (*Scan, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("simulate a scan: %w", err)
	}
	s := &Scan{Size: o.Size, Probe: curved(DefaultProbe(o.Size), o.Size, o.Curvature), Object: lines(o.ObjectSize, o.Phase, rand.New(rand.NewPCG(o.Seed, objectStream)))}
	s.place(o)
	if err := s.diffract(ctx, backend); err != nil {
		return nil, fmt.Errorf("simulate a scan: %w", err)
	}
	total := 0.0
	for _, v := range s.Diffraction { // intensities, of the same energy as the fields
		total += float64(v)
	}
	scale := o.Photons * float64(o.Positions) / total
	r := rand.New(rand.NewPCG(o.Seed, photonStream))
	for i := range o.Positions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for j, v := range s.Pattern(i) {
			s.Pattern(i)[j] = float32(math.Sqrt(poisson(r, scale*float64(v)) / scale))
		}
	}
	return s, nil
}

// place draws the positions uniformly, far enough from the edge.
func (s *Scan) place(o Options) {
	r := rand.New(rand.NewPCG(o.Seed, positionStream))
	buffer := bufferShare * float64(o.ObjectSize)
	for range o.Positions {
		s.X = append(s.X, buffer+r.Float64()*(float64(o.ObjectSize)-2*buffer))
		s.Y = append(s.Y, buffer+r.Float64()*(float64(o.ObjectSize)-2*buffer))
	}
}

// DefaultProbe is a disc: where the product of two Gaussian windows of standard deviation
// N/(0.7·π²) exceeds a half, blurred by one pixel, plus 1e-9.
func DefaultProbe(n int) []complex64 {
	const share, half, floor = 0.7 * math.Pi * math.Pi, 0.5, 1e-9
	window := make([]float64, n)
	for i := range window {
		x := (float64(i) - float64(n-1)/2) * share / float64(n)
		window[i] = math.Exp(-x * x / 2)
	}
	disc := make([]float64, n*n)
	for i := range disc {
		if window[i/n]*window[i%n] > half {
			disc[i] = 1
		}
	}
	probe := make([]complex64, n*n)
	for i, v := range blurred(disc, n, 1) {
		probe[i] = complex(float32(v+floor), 0)
	}
	return probe
}

// curved adds a phase to a probe that rises with the square of the distance from its
// centre, by the given radians at the edge of the default probe's disc.
func curved(probe []complex64, n int, radians float64) []complex64 {
	if radians == 0 {
		return probe
	}
	edge := float64(n) / (0.7 * math.Pi * math.Pi) * math.Sqrt(2*math.Ln2)
	for i, v := range probe {
		y, x := float64(i/n)-float64(n-1)/2, float64(i%n)-float64(n-1)/2
		probe[i] = complex64(complex128(v) * cmplx.Rect(1, radians*(y*y+x*x)/(edge*edge)))
	}
	return probe
}

// segments is the number of lines of an object.
const segments = 400

// lines draws line segments on a canvas twice the size of the object, blurs them at three
// widths and keeps the centre; the modulus is at most 1. The phase follows from the
// modulus.
func lines(side int, phase bool, r *rand.Rand) *Object {
	canvas := 2 * side
	drawn := make([]float64, canvas*canvas)
	for range segments {
		at := func() float64 { return r.Float64() * float64(canvas-1) }
		drawLine(drawn, canvas, at(), at(), at(), at())
	}
	sum := make([]float64, canvas*canvas)
	for _, part := range []struct{ sigma, weight float64 }{{1, 1}, {5, 2}, {10, 5}} {
		for i, v := range blurred(drawn, canvas, part.sigma) {
			sum[i] += part.weight * v
		}
	}
	o := &Object{Height: side, Width: side, Values: make([]complex64, side*side)}
	modulus := make([]float64, side*side)
	largest, total := 0.0, 0.0
	for i := range modulus {
		v := sum[(i/side+side/2)*canvas+i%side+side/2]
		modulus[i] = v
		largest, total = max(largest, v), total+v
	}
	if largest == 0 {
		return o
	}
	mean := total / float64(len(modulus))
	for i, v := range modulus {
		angle := 0.0
		if phase {
			angle = math.Pi * math.Tanh((v-largest/2)/(3*mean))
		}
		sin, cos := math.Sincos(angle)
		o.Values[i] = complex(float32(v/largest*cos), float32(v/largest*sin))
	}
	return o
}

// drawLine adds 1 to the pixels of a line between two points.
func drawLine(canvas []float64, side int, x0, y0, x1, y1 float64) {
	steps := int(math.Ceil(max(math.Abs(x1-x0), math.Abs(y1-y0), 1)))
	for i := range steps + 1 {
		t := float64(i) / float64(steps)
		x, y := int(math.Round(x0+t*(x1-x0))), int(math.Round(y0+t*(y1-y0)))
		canvas[y*side+x]++
	}
}

// blurred is a plane of side×side blurred by a Gaussian of the given standard deviation,
// cut off at four of them, its edges reflected.
func blurred(plane []float64, side int, sigma float64) []float64 {
	reach := int(4*sigma + 0.5)
	weights, total := make([]float64, 2*reach+1), 0.0
	for i := range weights {
		x := float64(i-reach) / sigma
		weights[i] = math.Exp(-x * x / 2)
		total += weights[i]
	}
	reflected := func(i int) int {
		for i < 0 || i >= side {
			if i < 0 {
				i = -1 - i
			} else {
				i = 2*side - 1 - i
			}
		}
		return i
	}
	pass := func(from []float64, step, line int) []float64 {
		to := make([]float64, len(from))
		for l := range side {
			for i := range side {
				sum := 0.0
				for k, w := range weights {
					sum += w * from[l*line+reflected(i+k-reach)*step]
				}
				to[l*line+i*step] = sum / total
			}
		}
		return to
	}
	return pass(pass(plane, 1, side), side, 1)
}

// batchPatterns is the number of patterns diffracted at a time.
const batchPatterns = 16

// diffract fills Diffraction with the intensities of the far field at every position:
// |F(object · probe)|², orthonormal, DC at [N/2, N/2].
func (s *Scan) diffract(ctx context.Context, backend nn.Backend) error {
	n := s.Size
	g := nn.NewGraph(nn.NewModel(nn.ModelOptions{}))
	g.Layer("diffraction", nn.PhaseTelescope)
	planes := tensor.Shape{batchPatterns, 1, n, n}
	exit := g.Polar(g.Input("modulus", planes), g.Input("phase", planes))
	g.Output("intensity", g.Intensity(g.FFT(exit)))
	plan, err := nn.Compile(ctx, g, nn.Value{}, nn.Options{})
	if err != nil {
		return err
	}
	state, err := backend.NewState(ctx, g.Model().Variables())
	if err != nil {
		return err
	}
	defer state.Close()
	exe, err := backend.Load(ctx, plan, state)
	if err != nil {
		return err
	}
	defer exe.Close()
	modulusID, _ := plan.Input("modulus")
	phaseID, _ := plan.Input("phase")
	intensityID, _ := plan.Output("intensity")
	modulus, phase := make([]float32, batchPatterns*n*n), make([]float32, batchPatterns*n*n)
	intensity := make([]float32, batchPatterns*n*n)
	s.Diffraction = make([]float32, len(s.X)*n*n)
	for from := 0; from < len(s.X); from += batchPatterns {
		count := min(batchPatterns, len(s.X)-from)
		for i := range count {
			s.exitWave(modulus[i*n*n:][:n*n], phase[i*n*n:][:n*n], from+i)
		}
		exe.Write(modulusID, modulus)
		exe.Write(phaseID, phase)
		if err := exe.Run(ctx, nn.SegmentForward); err != nil {
			return err
		}
		exe.Read(intensityID, intensity)
		copy(s.Diffraction[from*n*n:], intensity[:count*n*n])
	}
	return nil
}

// exitWave computes the probe times the object around a position, whose pixels lie
// between those of the object: modulus and phase.
func (s *Scan) exitWave(modulus, phase []float32, position int) {
	n, o := s.Size, s.Object
	top, left := s.Y[position]-float64(n)/2, s.X[position]-float64(n)/2
	for i := range n * n {
		z := o.sample(top+float64(i/n), left+float64(i%n)) * complex128(s.Probe[i])
		modulus[i] = float32(math.Hypot(real(z), imag(z)))
		phase[i] = float32(math.Atan2(imag(z), real(z)))
	}
}

// sample returns the bilinear value at a row and a column, 0 outside.
func (o *Object) sample(row, column float64) complex128 {
	top, left := math.Floor(row), math.Floor(column)
	fy, fx := row-top, column-left
	var sum complex128
	for _, corner := range []struct{ down, right, weight float64 }{
		{0, 0, (1 - fy) * (1 - fx)}, {0, 1, (1 - fy) * fx}, {1, 0, fy * (1 - fx)}, {1, 1, fy * fx},
	} {
		i, j := int(top+corner.down), int(left+corner.right)
		if i >= 0 && j >= 0 && i < o.Height && j < o.Width {
			sum += complex(corner.weight, 0) * complex128(o.Values[i*o.Width+j])
		}
	}
	return sum
}
