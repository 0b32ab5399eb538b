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
type Pair struct{ Image, Target Image }

// A Sampler draws patches of pairs for training.
type Sampler struct {
	pairs   []Pair
	patch   [3]int
	augment bool
	random  *rand.Rand

	points, values []float64 // of a histogram shift
}

// NewSampler returns a sampler of patches at random places of the pairs, in the order of
// random passes through all of them. augment changes images, not targets, as CytoDL does
// for segmentation.
func NewSampler(pairs []Pair, patch [3]int, augment bool, seed uint64) (*Sampler, error) {
	if len(pairs) == 0 {
		return nil, fmt.Errorf("patches of no images: needs one at least")
	}
	for i, p := range pairs {
		if p.Image.Sides != p.Target.Sides {
			return nil, fmt.Errorf("image %d has sides %v, its target %v: must be the same", i+1, p.Image.Sides, p.Target.Sides)
		}
		for a, side := range patch {
			if side < 1 || side > p.Image.Sides[a] {
				return nil, fmt.Errorf("patches of sides %v from image %d of %v: must fit", patch, i+1, p.Image.Sides)
			}
		}
	}
	return &Sampler{pairs: pairs, patch: patch, augment: augment, random: rand.New(rand.NewPCG(seed, 0x7061746368)),
		points: make([]float64, mostPoints), values: make([]float64, mostPoints)}, nil
}

// Floats is the number of values of a patch.
func (s *Sampler) Floats() int { return s.patch[0] * s.patch[1] * s.patch[2] }

// Epoch returns the pairs of one pass in random order, by index.
func (s *Sampler) Epoch() []int { return s.random.Perm(len(s.pairs)) }

// Draw copies a patch of a pair and of its target, at one random place, and augments it.
// It allocates nothing.
func (s *Sampler) Draw(pair int, image, target []float32) {
	p := &s.pairs[pair]
	var at [3]int
	for a := range at {
		at[a] = s.random.IntN(p.Image.Sides[a] - s.patch[a] + 1)
	}
	crop(image, p.Image, at, s.patch)
	crop(target, p.Target, at, s.patch)
	if !s.augment {
		return
	}
	if s.random.Float64() < changeProbability {
		s.shiftHistogram(image)
	}
	if s.random.Float64() < changeProbability {
		_, deviation := statistics(image)
		offset := float32(shiftBound * (2*s.random.Float64() - 1) * deviation)
		for i := range image {
			image[i] += offset
		}
	}
	if s.random.Float64() < changeProbability {
		adjustContrast(image, leastGamma+(mostGamma-leastGamma)*s.random.Float64())
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
func (s *Sampler) shiftHistogram(x []float32) {
	n := leastPoints + s.random.IntN(mostPoints-leastPoints+1)
	points, values := s.points[:n], s.values[:n]
	for i := range points {
		points[i] = float64(i) / float64(n-1)
	}
	copy(values, points)
	for i := 1; i < n-1; i++ {
		values[i] = values[i-1] + (values[i+1]-values[i-1])*s.random.Float64()
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
