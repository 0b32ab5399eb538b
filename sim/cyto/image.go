package cyto

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
)

// Image is a volume of one channel, or a plane if its depth is 1.
type Image struct {
	Sides  [3]int    // Z, Y, X
	Values []float32 // row-major
}

// NewImage returns an image of zeros.
func NewImage(sides [3]int) Image {
	return Image{sides, make([]float32, sides[0]*sides[1]*sides[2])}
}

// Normalise shifts and scales values in place to a mean of 0 and a population standard
// deviation of 1; equal values become 0.
func Normalise(x []float32) {
	mean, deviation := statistics(x)
	if deviation == 0 {
		deviation = 1
	}
	for i, v := range x {
		x[i] = float32((float64(v) - mean) / deviation)
	}
}

func statistics(x []float32) (mean, deviation float64) {
	for _, v := range x {
		mean += float64(v) / float64(len(x))
	}
	for _, v := range x {
		deviation += (float64(v) - mean) * (float64(v) - mean) / float64(len(x))
	}
	return mean, math.Sqrt(deviation)
}

// maskThreshold is the value from which a voxel of a segmentation counts as inside.
const maskThreshold = 0.1

// Mask sets values to 1 from 0.1 on, others to 0, in place.
func Mask(x []float32) {
	for i, v := range x {
		if v >= maskThreshold {
			x[i] = 1
		} else {
			x[i] = 0
		}
	}
}

// DiceOf is the Dice coefficient of a prediction's logits and a target of zeros and ones:
// twice the voxels that both have inside by the voxels of each, 1 if neither has any.
func DiceOf(logits, target []float32) float64 {
	both, all := 0.0, 0.0
	for i, z := range logits {
		if z > 0 {
			all++
			both += 2 * float64(target[i])
		}
		all += float64(target[i])
	}
	if all == 0 {
		return 1
	}
	return both / all
}

// CellsOptions describe a synthetic image.
type CellsOptions struct {
	Sides [3]int
	Cells int     // number of nuclei
	Noise float64 // standard deviation, of a nucleus of about 1 on a background of 0.2
	Seed  uint64
}

// Bounds of CellsOptions, against typing errors.
const (
	maxVoxels = 1 << 28
	maxCells  = 1 << 16
)

// Check returns an error if options are out of range.
func (o CellsOptions) Check() error {
	for voxels, i := 1, 0; i < 3; i++ {
		if o.Sides[i] < 1 || voxels > maxVoxels/o.Sides[i] {
			return fmt.Errorf("cells: sides of %dx%dx%d: must be positive, and %d voxels at most", o.Sides[0],
				o.Sides[1], o.Sides[2], maxVoxels)
		}
		voxels *= o.Sides[i]
	}
	if o.Cells < 0 || o.Cells > maxCells || !(o.Noise >= 0) || math.IsInf(o.Noise, 0) {
		return fmt.Errorf("cells: %d cells, noise of %g: must be 0 to %d, and finite", o.Cells, o.Noise, maxCells)
	}
	return nil
}

// Cells draws fluorescent nuclei: ellipsoids of random places, sizes, directions and
// brightness, flatter and more blurred along Z, with a texture of their own, on a dim
// background, and Gaussian noise. The mask is 1 inside a nucleus. The only errors are
// options out of range and that of ctx if it ends first.
func Cells(ctx context.Context, o CellsOptions) (image, mask Image, err error) {
	if err := o.Check(); err != nil {
		return image, mask, err
	}
	image, mask = NewImage(o.Sides), NewImage(o.Sides)
	r := rand.New(rand.NewPCG(o.Seed, 0x63656c6c73))
	for range o.Cells {
		if err := ctx.Err(); err != nil {
			return Image{}, Image{}, err
		}
		drawNucleus(r, image, mask)
	}
	for i := range image.Values {
		if i%(1<<20) == 0 && ctx.Err() != nil {
			return Image{}, Image{}, ctx.Err()
		}
		image.Values[i] += float32(0.2 + o.Noise*r.NormFloat64())
	}
	return image, mask, nil
}

// drawNucleus adds one nucleus. Where nuclei overlap, the brighter one counts.
func drawNucleus(r *rand.Rand, image, mask Image) {
	s := image.Sides
	centre := [3]float64{r.Float64() * float64(s[0]), r.Float64() * float64(s[1]), r.Float64() * float64(s[2])}
	long, wide, high := 5+4*r.Float64(), 4+3*r.Float64(), 3+2*r.Float64()
	sine, cosine := math.Sincos(r.Float64() * math.Pi)
	brightness, phase := 0.6+0.6*r.Float64(), 2*math.Pi*r.Float64()
	if s[0] == 1 { // a plane cuts every nucleus through its middle
		centre[0] = 0
	}
	reach := [3]int{int(high) + 3, int(long) + 3, int(long) + 3}
	within := func(axis, i int) bool { return i >= 0 && i < s[axis] }
	for z := int(centre[0]) - reach[0]; z <= int(centre[0])+reach[0]; z++ {
		for y := int(centre[1]) - reach[1]; y <= int(centre[1])+reach[1]; y++ {
			for x := int(centre[2]) - reach[2]; x <= int(centre[2])+reach[2]; x++ {
				if !within(0, z) || !within(1, y) || !within(2, x) {
					continue
				}
				dz, dy, dx := float64(z)-centre[0], float64(y)-centre[1], float64(x)-centre[2]
				u, v := cosine*dx+sine*dy, cosine*dy-sine*dx
				radius := math.Sqrt(math.Pow(u/long, 2) + math.Pow(v/wide, 2) + math.Pow(dz/high, 2))
				at := (z*s[1]+y)*s[2] + x
				edge := 1 / (1 + math.Exp(12*(radius-1)))
				texture := 1 + 0.2*math.Sin(1.1*u+phase)*math.Cos(0.9*v-phase)
				image.Values[at] = max(image.Values[at], float32(brightness*texture*edge))
				if radius <= 1 {
					mask.Values[at] = 1
				}
			}
		}
	}
}
