package optics

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// The four patterns below are PRISM's examples. They keep the order in which they
// are generated, and their x is taken as y, as in PRISM (spec/prism.md §4).

// ringShares are the samples on each of five circles, inside first, of 100.
var ringShares = [5]int{30, 25, 20, 15, 10}

// rings are five concentric circles of equal spacing with fewer samples on the
// outer ones. PRISM supports only 100 samples; other numbers keep the shares.
func (o *PatternOptions) rings() ([]segment, error) {
	if o.Samples < len(ringShares) {
		return nil, fmt.Errorf("samples = %d: five rings need 5 or more", o.Samples)
	}
	var segments []segment
	share := 0
	for ring, s := range ringShares {
		before := len(segments)
		share += s
		// Rounding the totals preserves the sum and leaves at least one sample in
		// every ring.
		count := max(1, (share*o.Samples+50)/100-before)
		count = min(count, o.Samples-before-(len(ringShares)-1-ring))
		r := o.Diameter / 2 * float64(ring+1) / float64(len(ringShares))
		for i := range count {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(count))
			segments = append(segments, point(r*cos, r*sin))
		}
	}
	return segments, nil
}

// archimedes is a spiral of 8.5 turns whose radius grows linearly from 0.
func (o *PatternOptions) archimedes() []segment {
	return o.spiral(8.5, func(f float64) float64 { return f * o.Diameter / 2 })
}

// logarithmic is a spiral of 5 turns whose radius grows exponentially from 1 pixel.
func (o *PatternOptions) logarithmic() []segment {
	growth := math.Log(o.Diameter / 2)
	return o.spiral(5, func(f float64) float64 { return math.Exp(growth * f) })
}

func (o *PatternOptions) spiral(turns float64, radius func(fraction float64) float64) []segment {
	segments := make([]segment, o.Samples)
	for k := range segments {
		f := 0.0
		if o.Samples > 1 {
			f = float64(k) / float64(o.Samples-1)
		}
		sin, cos := math.Sincos(f * turns * 2 * math.Pi)
		segments[k] = point(radius(f)*cos, radius(f)*sin)
	}
	return segments
}

// jitteredGrid is a square grid of ⌈√n⌉ points a side across the disc, row by row,
// each displaced by a normal random number of a tenth of the pitch. Points outside
// the disc are replaced, at the end, by points drawn uniformly from it.
func (o *PatternOptions) jitteredGrid(random *rand.Rand) ([]segment, error) {
	side := int(math.Ceil(math.Sqrt(float64(o.Samples))))
	if side < 2 {
		return nil, fmt.Errorf("samples = %d: a grid needs 2 or more", o.Samples)
	}
	rMax := o.Diameter / 2
	pitch := o.Diameter / float64(side-1)
	segments := make([]segment, 0, o.Samples)
	for k := range o.Samples {
		y := -rMax + float64(k%side)*pitch + 0.1*pitch*random.NormFloat64()
		x := -rMax + float64(k/side)*pitch + 0.1*pitch*random.NormFloat64()
		if math.Hypot(y, x) <= rMax {
			segments = append(segments, point(y, x))
		}
	}
	for len(segments) < o.Samples {
		sin, cos := math.Sincos(random.Float64() * 2 * math.Pi)
		r := rMax * math.Sqrt(random.Float64())
		segments = append(segments, point(r*cos, r*sin))
	}
	return segments, nil
}
