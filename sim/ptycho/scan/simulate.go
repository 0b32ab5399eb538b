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
	object, err := lines(ctx, o.ObjectSize, o.Phase, rand.New(rand.NewPCG(o.Seed, objectStream)))
	if err != nil {
		return nil, fmt.Errorf("simulate a scan: %w", err)
	}
	s := &Scan{Size: o.Size, Probe: curved(DefaultProbe(o.Size), o.Size, o.Curvature), Object: object}
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
	// an error would be that of the context, which does not end
	blur, _ := blurred(context.Background(), disc, n, 1, 0, n)
	probe := make([]complex64, n*n)
	for i, v := range blur {
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

// segments is the number of lines of an object, canvasShare the side of the canvas they are drawn on over
// that of the object, and mostBlur the largest standard deviation by which they are blurred.
const (
	segments    = 400
	canvasShare = 2
	mostBlur    = 10
)

// DrawingBytes is the memory in which the object is drawn, before there are patterns: the canvas, its rows
// blurred, the blurred centre and the sum of these.
func (o Options) DrawingBytes() int64 {
	side := int64(o.ObjectSize)
	return 8 * (canvasShare*canvasShare*side*side + side*(side+2*blurReach(mostBlur)) + 2*side*side)
}

// lines draws line segments on a canvas larger than the object, blurs them at three
// widths and keeps the centre; the modulus is at most 1. The phase follows from the
// modulus.
func lines(ctx context.Context, side int, phase bool, r *rand.Rand) (*Object, error) {
	canvas := canvasShare * side
	drawn := make([]float64, canvas*canvas)
	for range segments {
		at := func() float64 { return r.Float64() * float64(canvas-1) }
		drawLine(drawn, canvas, at(), at(), at(), at())
	}
	modulus := make([]float64, side*side)
	for _, part := range []struct{ sigma, weight float64 }{{1, 1}, {5, 2}, {mostBlur, 5}} {
		blur, err := blurred(ctx, drawn, canvas, part.sigma, side/2, side/2+side)
		if err != nil {
			return nil, err
		}
		for i, v := range blur {
			modulus[i] += part.weight * v
		}
	}
	o := &Object{Height: side, Width: side, Values: make([]complex64, side*side)}
	largest, total := 0.0, 0.0
	for _, v := range modulus {
		largest, total = max(largest, v), total+v
	}
	if largest == 0 {
		return o, nil
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
	return o, nil
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

// blurReach is the distance in pixels at which a Gaussian of a standard deviation is cut off.
func blurReach(sigma float64) int64 { return int64(4*sigma + 0.5) }

// blurred is the square from one row and column to others, without these, of a plane of side×side that is
// blurred by a Gaussian of the given standard deviation, cut off at four of them, its edges reflected.
func blurred(ctx context.Context, plane []float64, side int, sigma float64, from, to int) ([]float64, error) {
	reach := int(blurReach(sigma))
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
	width := to - from
	across := make([]float64, (width+2*reach)*width) // blurred along their rows: those that the square needs
	padded := make([]float64, width+2*reach)
	for i := range width + 2*reach {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row := plane[reflected(from-reach+i)*side:][:side]
		for k := range padded {
			padded[k] = row[reflected(from-reach+k)]
		}
		accumulate(across[i*width:][:width], weights, total, func(k int) []float64 { return padded[k:] })
	}
	square := make([]float64, width*width)
	for i := range width {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		accumulate(square[i*width:][:width], weights, total, func(k int) []float64 { return across[(i+k)*width:] })
	}
	return square, nil
}

// accumulate sets a row, of zeros, to the mean of others by weights, which have a total.
func accumulate(row, weights []float64, total float64, other func(k int) []float64) {
	for k, w := range weights {
		for i, v := range other(k)[:len(row)] {
			row[i] += w * v
		}
	}
	for i := range row {
		row[i] /= total
	}
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
