package optics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Sampling patterns: their options, and the points or lines of k-space that are measured, in order.

// PatternOptions configure the sampling of k-space (spec/prism.md §4).
type PatternOptions struct {
	// Name is one of PatternNames.
	Name string
	// Number of samples wanted. A cutoff or a star may produce a different
	// number.
	Samples int
	// Diameter of the sampled disc in pixels.
	Diameter float64
	// Size is the side of the field; centres must lie in it.
	Size int
	// Cutoff drops samples whose middle is farther than this from DC, in pixels; 0
	// keeps all. PRISM's default, half the Diameter, keeps all too.
	Cutoff float64

	// Length of a line sample in pixels; 0 makes points. Only fermat, random and
	// star support lines, and star consists of lines.
	Length float64
	// Angle of all of fermat's lines in radians if FixedAngle, else random.
	Angle      float64
	FixedAngle bool
	// Number of angles of a star; 0 chooses the one that comes closest to
	// Samples.
	Angles int
	// LineCentres is the number of apertures along a line, rounded to an odd
	// number; 0 means one per pixel, Length + 1.
	LineCentres int

	// Seed of the random patterns.
	Seed uint64
}

// PatternNames returns the names of the patterns: PRISM's three, then its four examples
// (concentric circles, Archimedean spiral, jittered grid, logarithmic spiral).
func PatternNames() []string {
	return []string{"fermat", "random", "star", "rings", "archimedes", "grid", "logarithmic"}
}

// segment is a sample before it is cut into apertures: a line from one end to the
// other, or a point where they are equal.
type segment struct{ from, to Point }

func (s segment) middle() Point {
	return Point{(s.from.Y + s.to.Y) / 2, (s.from.X + s.to.X) / 2}
}

// patternStream separates the patterns' random numbers from others of the same seed.
const patternStream = 0x7061747465726e

// Pattern returns the aperture centres of each sample, in training order. Every
// sample has the same number of centres: one, or several along a line. Millions of
// them take a while; if ctx ends first, its error is returned.
func Pattern(ctx context.Context, o PatternOptions) ([][]Point, error) {
	o.Name = strings.ToLower(o.Name)
	if err := o.validate(); err != nil {
		return nil, err
	}
	segments, err := o.segments(rand.New(rand.NewPCG(o.Seed, patternStream)))
	if err != nil {
		return nil, err
	}
	if o.Cutoff > 0 {
		segments = slices.DeleteFunc(segments, func(s segment) bool {
			m := s.middle()
			return math.Hypot(m.Y, m.X) > o.Cutoff
		})
	}
	if len(segments) == 0 {
		return nil, fmt.Errorf("sampling = %s: no sample within %g pixels of DC", o.Name, o.Cutoff)
	}
	count := 1
	if o.Length > 0 {
		count = odd(o.LineCentres, int(o.Length)+1)
	}
	samples := make([][]Point, len(segments))
	for i, s := range segments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		samples[i] = s.centres(count)
	}
	return samples, nil
}

// odd returns wanted, or otherwise if wanted is 0, plus one if even.
func odd(wanted, otherwise int) int {
	if wanted <= 0 {
		wanted = otherwise
	}
	return wanted | 1
}

// centres returns count points spaced evenly from one end to the other, inclusive.
func (s segment) centres(count int) []Point {
	points := make([]Point, count)
	for i := range points {
		if count == 1 {
			points[i] = s.middle()
			continue
		}
		f := float64(i) / float64(count-1)
		points[i] = Point{s.from.Y + f*(s.to.Y-s.from.Y), s.from.X + f*(s.to.X-s.from.X)}
	}
	return points
}

// maxSamples bounds the memory of a pattern.
const maxSamples = 1 << 20

func (o *PatternOptions) validate() error {
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	switch {
	case !slices.Contains(PatternNames(), o.Name):
		return fmt.Errorf("sampling = %q: must be one of %s", o.Name, strings.Join(PatternNames(), ", "))
	case o.Samples < 1 || o.Samples > maxSamples:
		return fmt.Errorf("samples = %d: must be 1 to %d", o.Samples, maxSamples)
	case o.Size < 1:
		return fmt.Errorf("size = %d: must be above 0", o.Size)
	case !positive(o.Diameter):
		return fmt.Errorf("roi_diameter = %g: must be above 0", o.Diameter)
	case o.Diameter > float64(o.Size):
		return fmt.Errorf("roi_diameter = %g: larger than the field of %d pixels", o.Diameter, o.Size)
	case float64(o.Samples) > max(1, math.Pi/4*o.Diameter*o.Diameter):
		return fmt.Errorf("samples = %d: more than the pixels of a disc of diameter %g", o.Samples, o.Diameter)
	case o.Cutoff < 0 || math.IsNaN(o.Cutoff):
		return fmt.Errorf("cutoff = %g: must be 0 or more", o.Cutoff)
	case !(o.Length >= 0) || o.Length >= o.Diameter:
		return fmt.Errorf("sample_length = %g: must be 0 or more and below the sampled diameter %g", o.Length,
			o.Diameter)
	case o.Length > 0 && !slices.Contains([]string{"fermat", "random", "star"}, o.Name):
		return fmt.Errorf("sample_length = %g: sampling = %s has points only", o.Length, o.Name)
	case o.Name == "star" && o.Length == 0:
		return errors.New("sample_length = 0: a star is made of lines and needs a length above 0")
	case o.Name == "star" && o.Length < 1:
		return fmt.Errorf("sample_length = %g: a star's lines are at least 1 pixel long", o.Length)
	case o.Angles < 0 || o.Angles > maxSamples:
		return fmt.Errorf("angles = %d: must be 0 to %d", o.Angles, maxSamples)
	case o.LineCentres < 0 || o.LineCentres > maxSamples:
		return fmt.Errorf("line centres = %d: must be 0 to %d", o.LineCentres, maxSamples)
	case o.Angle != o.Angle || math.IsInf(o.Angle, 0):
		return fmt.Errorf("line angle = %g: must be finite", o.Angle)
	}
	return nil
}

func (o *PatternOptions) segments(random *rand.Rand) ([]segment, error) {
	switch o.Name {
	case "fermat":
		return o.fermat(random), nil
	case "random":
		return o.random(random), nil
	case "star":
		return o.star()
	case "rings":
		return o.rings()
	case "archimedes":
		return o.archimedes(), nil
	case "grid":
		return o.jitteredGrid(random)
	default:
		return o.logarithmic(), nil
	}
}

// line returns the sample of the wanted length around a middle at an angle.
func (o *PatternOptions) line(middle Point, angle float64) segment {
	sin, cos := math.Sincos(angle)
	dy, dx := o.Length/2*sin, o.Length/2*cos
	return segment{Point{middle.Y - dy, middle.X - dx}, Point{middle.Y + dy, middle.X + dx}}
}

func point(y, x float64) segment { return segment{Point{y, x}, Point{y, x}} }
