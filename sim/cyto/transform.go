package cyto

import (
	"context"
	"fmt"
	"math"
)

// Zoom shrinks all sides of an image to a part of their length, rounded down: a voxel is
// the mean of the box that it covers, as PyTorch's interpolation "area" has it (§B2). A
// side of one voxel stays, so that planes remain planes. If ctx ends first, its error is
// returned.
func Zoom(ctx context.Context, from Image, factor float64) (Image, error) {
	if !(factor > 0 && factor <= 1) {
		return Image{}, fmt.Errorf("zoom of %g: must be above 0 and at most 1", factor)
	}
	var sides [3]int
	for a, side := range from.Sides {
		sides[a] = side
		if side > 1 {
			sides[a] = int(float64(side) * factor)
		}
		if sides[a] < 1 {
			return Image{}, fmt.Errorf("zoom of %g for sides of %dx%dx%d voxels: leaves none", factor, from.Sides[0],
				from.Sides[1], from.Sides[2])
		}
	}
	if sides == from.Sides {
		return from, nil
	}
	to := NewImage(sides)
	ys, xs := boxes(from.Sides[1], sides[1]), boxes(from.Sides[2], sides[2])
	for z, deep := range boxes(from.Sides[0], sides[0]) {
		for y, high := range ys {
			if err := ctx.Err(); err != nil {
				return Image{}, err
			}
			for x, wide := range xs {
				sum := 0.0
				for i := deep[0]; i < deep[1]; i++ {
					for j := high[0]; j < high[1]; j++ {
						for _, v := range from.Values[(i*from.Sides[1]+j)*from.Sides[2]:][wide[0]:wide[1]] {
							sum += float64(v)
						}
					}
				}
				n := (deep[1] - deep[0]) * (high[1] - high[0]) * (wide[1] - wide[0])
				to.Values[(z*sides[1]+y)*sides[2]+x] = float32(sum / float64(n))
			}
		}
	}
	return to, nil
}

// Enlarge returns an image with other sides as bytes, low as 0 and high as 255, rounded
// down: voxels are interpolated linearly between the centres of those of the image, as PyTorch's
// "trilinear" does without aligned corners. Values must be finite and lie between low and high.
// If ctx ends first, its error is returned.
func Enlarge(ctx context.Context, from Image, sides [3]int, low, high float32) ([]uint8, error) {
	to := make([]uint8, sides[0]*sides[1]*sides[2])
	if !(high > low) {
		return to, ctx.Err()
	}
	zs, ys, xs := between(from.Sides[0], sides[0]), between(from.Sides[1], sides[1]), between(from.Sides[2], sides[2])
	area, width := from.Sides[1]*from.Sides[2], from.Sides[2]
	plane, row := make([]float32, area), make([]float32, width)
	scale := math.MaxUint8 / (high - low)
	at := 0
	for _, z := range zs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		z.blend(plane, from.Values[z.first*area:][:area], from.Values[z.second*area:][:area])
		for _, y := range ys {
			y.blend(row, plane[y.first*width:][:width], plane[y.second*width:][:width])
			for _, x := range xs {
				v := row[x.first] + x.part*(row[x.second]-row[x.first])
				to[at] = uint8(min(max((v-low)*scale, 0), math.MaxUint8))
				at++
			}
		}
	}
	return to, nil
}

// neighbours are the two voxels that a voxel of another length lies between, and its part
// of the way from the first to the second.
type neighbours struct {
	first, second int
	part          float32
}

// blend writes what lies between two rows or planes.
func (n neighbours) blend(dst, first, second []float32) {
	for i, v := range first {
		dst[i] = v + n.part*(second[i]-v)
	}
}

// between returns the neighbours of each voxel of a side that becomes longer or shorter.
func between(from, to int) []neighbours {
	all := make([]neighbours, to)
	for i := range all {
		x := max((float64(i)+0.5)*float64(from)/float64(to)-0.5, 0)
		first := min(int(x), from-1)
		all[i] = neighbours{first, min(first+1, from-1), float32(x - float64(first))}
	}
	return all
}

// boxes returns the first voxel and the end of what each voxel of a shorter side covers.
// Neighbours share a voxel that lies in both.
func boxes(from, to int) [][2]int {
	b := make([][2]int, to)
	for i := range b {
		b[i] = [2]int{i * from / to, ((i+1)*from + to - 1) / to}
	}
	return b
}

// Sigmoid changes logits into probabilities, in place.
func Sigmoid(x []float32) {
	for i, z := range x {
		x[i] = float32(1 / (1 + math.Exp(-float64(z))))
	}
}
