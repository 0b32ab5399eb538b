package ptycho

import (
	"errors"
	"fmt"
	"math"

	"prismtop/sim/ptycho/scan"
)

// PatchSide is M, the side of the central part of a group's object that is assembled.
const PatchSide = 20

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
	a, err := NewAssembly(centres)
	if err == nil {
		err = a.Add(objects, n)
	}
	if err == nil && a.added < len(centres) {
		err = fmt.Errorf("reassemble: %d numbers for %d objects of %d×%d pixels", len(objects), len(centres), n, n)
	}
	if err != nil {
		return nil, err
	}
	return a.Canvas(), nil
}

// NewAssembly returns the empty canvas of groups with the given centres.
func NewAssembly(centres [][2]float64) (*Assembly, error) {
	if len(centres) == 0 {
		return nil, errors.New("reassemble: there are no objects")
	}
	a := &Assembly{centres: centres}
	for _, p := range centres {
		a.mean[0] += p[0] / float64(len(centres))
		a.mean[1] += p[1] / float64(len(centres))
	}
	farthest := 0.0
	for _, p := range centres {
		for axis, v := range p {
			if d := math.Abs(v - a.mean[axis]); !(d <= maxSpread) {
				return nil, fmt.Errorf("reassemble: a centre at (%g, %g): must be within %d pixels of the others",
					p[0], p[1], maxSpread)
			} else if d > farthest {
				farthest = d
			}
		}
	}
	a.pad = int(math.Ceil(farthest))
	a.pad += a.pad % 2
	a.side = PatchSide + 2*a.pad
	a.sum, a.weight = make([]complex128, a.side*a.side), make([]float64, a.side*a.side)
	return a, nil
}

// Add adds the objects of the next groups, planes of n×n. Only their central patches
// matter, so that planes of PatchSide will do. The canvas does not depend on how many
// are added at a time.
func (a *Assembly) Add(objects []complex64, n int) error {
	if n < PatchSide {
		return fmt.Errorf("reassemble: objects of %d pixels: must have %d or more", n, PatchSide)
	}
	count := len(objects) / (n * n)
	if len(objects) != count*n*n || a.added+count > len(a.centres) {
		return fmt.Errorf("reassemble: %d numbers for %d objects of %d×%d pixels", len(objects),
			len(a.centres)-a.added, n, n)
	}
	for i := range count {
		p := a.centres[a.added]
		a.add(objects[i*n*n:][:n*n], n, p[0]-a.mean[0], p[1]-a.mean[1])
		a.added++
	}
	return nil
}

// CentralPatch copies the central patch of an object to dst: a plane of n×n as networks write it, real
// and imaginary parts by turns.
func CentralPatch(dst []complex64, object []float32, n int) {
	first := n/2 - PatchSide/2
	for i := range PatchSide {
		row := object[2*((first+i)*n+first):][:2*PatchSide]
		for k := range PatchSide {
			dst[i*PatchSide+k] = complex(row[2*k], row[2*k+1])
		}
	}
}

// maxSpread bounds the distance of centres from their mean, and so the canvas.
const maxSpread = 4096

// Assembly is a canvas being filled, in the order of the groups.
type Assembly struct {
	centres   [][2]float64
	mean      [2]float64
	added     int // groups
	side, pad int
	sum       []complex128
	weight    []float64
}

// add adds the central patch of an object, translated by (x, y): each of its pixels
// goes to four pixels of the canvas.
func (a *Assembly) add(object []complex64, n int, x, y float64) {
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
func (a *Assembly) addShifted(object []complex64, n, row, column int, w float64) {
	from := n/2 - PatchSide/2
	for i := range PatchSide {
		for j := range PatchSide {
			at := (row+i)*a.side + column + j
			a.sum[at] += complex(w, 0) * complex128(object[(from+i)*n+from+j])
			a.weight[at] += w
		}
	}
}

// Truth returns the pixels of a known object under the canvas without a frame of margin pixels.
func (a *Assembly) Truth(o *scan.Object, margin int) []complex64 {
	corner := float64(margin) - float64(a.side)/2
	return o.Window(a.mean[1]+corner, a.mean[0]+corner, a.side-2*margin)
}

// Canvas returns the object assembled so far.
func (a *Assembly) Canvas() *Canvas {
	c := &Canvas{Side: a.side, Pad: a.pad, Object: make([]complex64, len(a.sum))}
	for i, s := range a.sum {
		c.Object[i] = complex64(s / complex(reassembleEpsilon+a.weight[i], 0))
	}
	return c
}
