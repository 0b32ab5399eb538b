// Package volume holds the CPU's kernels for volumes with their channels last,
// [N, D, H, W, C]: convolutions and their gradients, and instance normalisation.
//
// With channels last, the values under the taps of a row of a kernel are one run in
// memory, and a convolution of a row of voxels is a sum of matrix products of rows of
// voxels with matrices of weights (conv.Outer), one for each row of the kernel.
//
// Every element is computed by one call in a fixed order, and sums over voxels are made
// of parts that depend on the sizes only, so that results are the same bits for any
// number of threads.
package volume

import "prismtop/sim/cpu/vec/conv"

// panel is the number of channels computed side by side.
const panel = conv.PatchFloats

// Axes are numbers for depth, height and width.
type Axes [3]int

// Product is the product of the axes.
func (a Axes) Product() int { return a[0] * a[1] * a[2] }

// Grid is a volume without its first axis.
type Grid struct {
	Sides    Axes
	Channels int
}

// floats is the size of a volume.
func (g Grid) floats() int { return g.Sides.Product() * g.Channels }

// Geometry describes a convolution: the small grid is its output, or the input of a
// transposed one, the large grid is the other. All products are
//
//	small[n, m, s] · large[n, Stride·m − Pad + k, l] · w[s][l][k]
//
//	gather:  small from large and w
//	scatter: large from small and w
//	weight:  w from small and large
type Geometry struct {
	N                   int
	Small, Large        Grid
	Kernel, Stride, Pad Axes
}

// Part is a volume whose channels are those from First on of the large grid.
type Part struct {
	X               Values
	First, Channels int
}

// roundedUp returns the channels rounded up to whole panels.
func roundedUp(channels int) int { return (channels + panel - 1) / panel * panel }
