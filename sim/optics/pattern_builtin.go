package optics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// fermat is the Fermat spiral: r = r_max·√(k/n) at k golden angles, in order of
// increasing radius, the first sample at DC (spec/prism.md §4).
func (o *PatternOptions) fermat(random *rand.Rand) []segment {
	segments := make([]segment, o.Samples)
	for k, c := range FermatSpiral(o.Samples, o.Diameter/2) {
		angle := o.Angle
		if o.Length > 0 && !o.FixedAngle {
			angle = random.Float64() * 2 * math.Pi
		}
		segments[k] = o.line(c, angle)
	}
	return segments
}

// goldenAngle is PRISM's value, in degrees.
const goldenAngle = 137.508

// FermatSpiral returns n centres within rMax of DC. Radii, angles and products
// are rounded to float32 as in PyTorch, since k·angle in float32 is off by up to
// 1e-5 rad, which moves the pixels on an aperture's rim.
func FermatSpiral(n int, rMax float64) []Point {
	centres := make([]Point, n)
	step := float32(rMax / math.Sqrt(float64(n)))
	turn := float32(goldenAngle * math.Pi / 180)
	for k := range centres {
		r := step * float32(math.Sqrt(float64(k)))
		sin, cos := math.Sincos(float64(turn * float32(k)))
		centres[k] = Point{float64(r * float32(sin)), float64(r * float32(cos))}
	}
	return centres
}

// random draws middles uniformly from the disc and sorts them by radius; the
// outermost is first moved to DC, so that DC is sampled. Lines keep half their
// length away from the disc's rim, except the first one, and have random angles.
func (o *PatternOptions) random(random *rand.Rand) []segment {
	diameter := o.Diameter - o.Length/2
	radii := make([]float64, o.Samples)
	for i := range radii {
		radii[i] = diameter / 2 * math.Sqrt(random.Float64())
	}
	largest := 0
	for i, r := range radii {
		if r > radii[largest] {
			largest = i
		}
	}
	radii[largest] = 0
	slices.Sort(radii)
	segments := make([]segment, o.Samples)
	for i, r := range radii {
		sin, cos := math.Sincos(random.Float64() * 2 * math.Pi)
		angle := 0.0
		if o.Length > 0 {
			angle = random.Float64() * 2 * math.Pi
		}
		segments[i] = o.line(Point{r * sin, r * cos}, angle)
	}
	return segments
}

// star has lines along radii, by radius and then by angle: radii 0, length,
// 2·length, … below (diameter − length)/2, at angles of π/Angles; the lines
// through DC cover only half a turn, since the other half would repeat them. The
// direction is (cos, sin) taken as (y, x), as in PRISM.
func (o *PatternOptions) star() ([]segment, error) {
	rings := int(math.Ceil((o.Diameter/2 - o.Length/2) / o.Length))
	if rings < 1 {
		return nil, fmt.Errorf("sample_length = %g: no line fits a disc of diameter %g", o.Length, o.Diameter)
	}
	angles := o.Angles
	if angles == 0 {
		angles = max(1, int(math.Round(float64(o.Samples)/float64(2*rings-1))))
	}
	if total := angles * (2*rings - 1); total > maxSamples {
		return nil, fmt.Errorf("angles = %d: %d samples are more than %d", angles, total, maxSamples)
	}
	var segments []segment
	for ring := range rings {
		r := float64(ring) * o.Length
		count := 2 * angles
		if ring == 0 {
			count = angles
		}
		for i := range count {
			sin, cos := math.Sincos(float64(i) * math.Pi / float64(angles))
			in, out := r-o.Length/2, r+o.Length/2
			segments = append(segments, segment{Point{in * cos, in * sin}, Point{out * cos, out * sin}})
		}
	}
	return segments, nil
}
