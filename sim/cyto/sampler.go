package cyto

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// The constants of CytoDL's augmentation (§B2): each change has the same probability.
const (
	changeProbability = 0.1
	leastPoints       = 90 // control points of a histogram shift
	mostPoints        = 500
	shiftBound        = 0.1 // of a shift, in standard deviations
	leastGamma        = 0.9
	mostGamma         = 1.5
	contrastEpsilon   = 1e-7 // added to the range of values
)

// Pair is an image and its target, both of the same sides.
type Pair struct {
	Image, Target Image
	From          *Origin // of the image; nil if it is synthetic
}

// Origin is what a file says about an image, before it was made smaller.
type Origin struct {
	Sides   [3]int     // Z, Y, X
	Voxel   [3]float64 // micrometres along Z, Y and X, 0 if unknown
	Channel string     // the name of its channel, may be empty
}

// A Cropper cuts patches of one size out of pairs, and augments them. It belongs to one
// goroutine.
type Cropper struct {
	patch   [3]int
	augment bool

	points, values []float64 // of a histogram shift
}

// NewCropper returns a cropper. augment changes images, not targets.
func NewCropper(patch [3]int, augment bool) *Cropper {
	return &Cropper{patch: patch, augment: augment, points: make([]float64, mostPoints),
		values: make([]float64, mostPoints)}
}

// Floats is the number of values of a patch.
func (c *Cropper) Floats() int { return c.patch[0] * c.patch[1] * c.patch[2] }

// Check returns an error, to follow the name of the image, if patches do not fit into a
// pair, or its target, if it has one, has other sides than its image.
func (c *Cropper) Check(p *Pair) error {
	if p.Target.Values != nil && p.Image.Sides != p.Target.Sides {
		return fmt.Errorf("has sides %v, its target %v: must be the same", p.Image.Sides, p.Target.Sides)
	}
	for a, side := range c.patch {
		if side < 1 || side > p.Image.Sides[a] {
			return fmt.Errorf("has sides %v: must be at least %v, those of a patch", p.Image.Sides, c.patch)
		}
	}
	return nil
}

// Draw copies a patch of a pair, and of its target if it has one, at one random place,
// and augments it. It allocates nothing.
func (c *Cropper) Draw(r *rand.Rand, p *Pair, image, target []float32) {
	var at [3]int
	for a := range at {
		at[a] = r.IntN(p.Image.Sides[a] - c.patch[a] + 1)
	}
	crop(image, p.Image, at, c.patch)
	if p.Target.Values != nil {
		crop(target, p.Target, at, c.patch)
	}
	if !c.augment {
		return
	}
	if r.Float64() < changeProbability {
		c.shiftHistogram(r, image)
	}
	if r.Float64() < changeProbability {
		_, deviation := statistics(image)
		offset := float32(shiftBound * (2*r.Float64() - 1) * deviation)
		for i := range image {
			image[i] += offset
		}
	}
	if r.Float64() < changeProbability {
		adjustContrast(image, leastGamma+(mostGamma-leastGamma)*r.Float64())
	}
}

// crop copies a box of an image.
func crop(dst []float32, from Image, at, sides [3]int) {
	for z := range sides[0] {
		for y := range sides[1] {
			row := ((at[0]+z)*from.Sides[1]+at[1]+y)*from.Sides[2] + at[2]
			copy(dst[(z*sides[1]+y)*sides[2]:][:sides[2]], from.Values[row:])
		}
	}
}

// shiftHistogram maps values through a curve of random control points: evenly spaced, each
// moved between its neighbours.
func (c *Cropper) shiftHistogram(r *rand.Rand, x []float32) {
	n := leastPoints + r.IntN(mostPoints-leastPoints+1)
	points, values := c.points[:n], c.values[:n]
	for i := range points {
		points[i] = float64(i) / float64(n-1)
	}
	copy(values, points)
	for i := 1; i < n-1; i++ {
		values[i] = values[i-1] + (values[i+1]-values[i-1])*r.Float64()
	}
	mapThrough(x, values)
}

// mapThrough replaces values by a curve through control points at even spaces of their
// range, given as parts of the range.
func mapThrough(x []float32, values []float64) {
	low, high := float64(slices.Min(x)), float64(slices.Max(x))
	if high == low {
		return
	}
	last := float64(len(values) - 1)
	for i, v := range x {
		at := (float64(v) - low) / (high - low) * last
		k := min(int(at), len(values)-2)
		part := values[k] + (values[k+1]-values[k])*(at-float64(k))
		x[i] = float32(low + (high-low)*part)
	}
}

// adjustContrast raises values, as parts of their range, to a power.
func adjustContrast(x []float32, gamma float64) {
	low, high := float64(slices.Min(x)), float64(slices.Max(x))
	for i, v := range x {
		x[i] = float32(math.Pow((float64(v)-low)/(high-low+contrastEpsilon), gamma)*(high-low) + low)
	}
}
