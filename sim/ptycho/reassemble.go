package ptycho

import (
	"fmt"
	"math"
)

// patchSide is M, the side of the central part of a group's object that Reassemble uses.
const patchSide = 20

// reassembleEpsilon is added to the weight of a pixel that no patch may cover.
const reassembleEpsilon = 1e-9

// Canvas is an assembled object: a square of complex numbers, row by row.
type Canvas struct {
	Side   int
	Pad    int // pixels on each side of the central patch
	Object []complex64
}

// Reassemble joins the objects of groups, planes of n×n, at their centres (x, y) in
// pixels (§A2). Of each it takes the central 20×20, which it adds to a canvas at the
// distance of its centre from the mean of all, bilinearly, and divides by the sum of the
// weights: the canvas is as large as the farthest one needs. Sums are taken in float64
// and in the order of the groups.
func Reassemble(objects []complex64, n int, centres [][2]float64) (*Canvas, error) {
	switch {
	case n < patchSide:
		return nil, fmt.Errorf("reassemble: objects of %d pixels: must have %d or more", n, patchSide)
	case len(centres) == 0 || len(objects) != len(centres)*n*n:
		return nil, fmt.Errorf("reassemble: %d numbers for %d objects of %d×%d pixels", len(objects), len(centres), n, n)
	}
	mean := [2]float64{}
	for _, p := range centres {
		mean[0] += p[0] / float64(len(centres))
		mean[1] += p[1] / float64(len(centres))
	}
	farthest := 0.0
	for _, p := range centres {
		for axis, v := range p {
			if d := math.Abs(v - mean[axis]); !(d <= maxSpread) {
				return nil, fmt.Errorf("reassemble: a centre at (%g, %g): must be within %d pixels of the others", p[0], p[1], maxSpread)
			} else if d > farthest {
				farthest = d
			}
		}
	}
	pad := int(math.Ceil(farthest))
	pad += pad % 2
	a := assembly{side: patchSide + 2*pad, pad: pad}
	a.sum, a.weight = make([]complex128, a.side*a.side), make([]float64, a.side*a.side)
	for i, p := range centres {
		a.add(objects[i*n*n:][:n*n], n, p[0]-mean[0], p[1]-mean[1])
	}
	return a.canvas(), nil
}

// maxSpread bounds the distance of centres from their mean, and so the canvas.
const maxSpread = 4096

// assembly is a canvas being filled.
type assembly struct {
	side, pad int
	sum       []complex128
	weight    []float64
}

// add adds the central patch of an object, translated by (x, y): each of its pixels
// goes to four pixels of the canvas.
func (a *assembly) add(object []complex64, n int, x, y float64) {
	down, right := math.Floor(y), math.Floor(x)
	fy, fx := y-down, x-right
	for _, r := range []struct {
		shift  int
		weight float64
	}{{int(down), 1 - fy}, {int(down) + 1, fy}} {
		for _, c := range []struct {
			shift  int
			weight float64
		}{{int(right), 1 - fx}, {int(right) + 1, fx}} {
			if w := r.weight * c.weight; w > 0 {
				a.addShifted(object, n, a.pad+r.shift, a.pad+c.shift, w)
			}
		}
	}
}

// addShifted adds the central patch with its corner at (row, column), times w.
func (a *assembly) addShifted(object []complex64, n, row, column int, w float64) {
	from := n/2 - patchSide/2
	for i := range patchSide {
		for j := range patchSide {
			at := (row+i)*a.side + column + j
			a.sum[at] += complex(w, 0) * complex128(object[(from+i)*n+from+j])
			a.weight[at] += w
		}
	}
}

func (a *assembly) canvas() *Canvas {
	c := &Canvas{Side: a.side, Pad: a.pad, Object: make([]complex64, len(a.sum))}
	for i, s := range a.sum {
		c.Object[i] = complex64(s / complex(reassembleEpsilon+a.weight[i], 0))
	}
	return c
}
