// Package picture loads objects into the simulation and saves reconstructions:
// picture files read by PRISM's loading rule (spec/prism.md §8), objects drawn by
// the program, and 16-bit PNG and NPY files.
package picture

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Options configures how an intensity picture becomes an object.
type Options struct {
	Size       int  // N, side of the field in pixels
	ObjectSize int  // S ≤ N, side of the object's window in pixels
	Invert     bool // bright becomes dark, before padding
}

func (o Options) check() error {
	switch {
	case o.Size < 1:
		return fmt.Errorf("size = %d: must be at least 1", o.Size)
	case o.ObjectSize < 1 || o.ObjectSize > o.Size:
		return fmt.Errorf("object_size = %d: must be from 1 to size, %d", o.ObjectSize, o.Size)
	}
	return nil
}

// Object is the ground truth of a reconstruction: an amplitude in a dark field.
type Object struct {
	Name string // the built-in object's name, or the file's base name
	Size int    // N
	// Amplitude holds N×N values from 0 to 1, row by row: the square root of the
	// picture's intensity.
	Amplitude []float32
	// The object's window: ObjectSize rows and columns from Offset on.
	ObjectSize, Offset int
	Notes              []string // changes made to the picture by the loading rule, one line each
}

// intensity is a picture of h×w intensities, row by row.
type intensity struct {
	w, h   int
	pixels []float64
	white  float64 // intensity that inversion maps to 0; NaN means the picture's own range
}

// errConstant is the error for a picture without contrast.
var errConstant = errors.New("every pixel has the same value: must have some contrast")

// leastContrast is the difference of the extremes, relative to the greater, that
// rounding while resizing can cause in a uniform picture.
const leastContrast = 1e-12

// place turns an intensity picture of at most S×S into an object by the loading
// rule of spec/prism.md §8: invert, pad with zeros to N×N (before: half of the
// difference, rounded down), subtract the minimum, divide by the maximum, take
// the square root. Negative values, which only arrays can have, are first raised
// to zero, so that the padding stays dark.
func place(ctx context.Context, p intensity, o Options) (*Object, error) {
	low, high := extremes(p.pixels)
	if !(high-low > leastContrast*math.Max(math.Abs(high), math.Abs(low))) {
		return nil, errConstant
	}
	obj := &Object{Size: o.Size, ObjectSize: o.ObjectSize, Offset: (o.Size - o.ObjectSize) / 2}
	if o.Invert {
		white := p.white
		if math.IsNaN(white) {
			white = low + high
		}
		for i, v := range p.pixels {
			p.pixels[i] = white - v
		}
		low, high = white-high, white-low
	}
	floor := math.Min(low, 0)
	if floor < 0 {
		obj.Notes = append(obj.Notes, fmt.Sprintf("values below zero: lifted by %.6g", -floor))
	}
	if p.w == o.Size && p.h == o.Size {
		floor = low // no padding: the picture's own minimum is the field's
	}
	obj.Amplitude = make([]float32, o.Size*o.Size)
	left := obj.Offset + (o.ObjectSize-p.w)/2
	top := obj.Offset + (o.ObjectSize-p.h)/2
	// Halving keeps the difference of two huge values finite.
	scale := 1 / (high/2 - floor/2)
	if math.IsInf(scale, 0) {
		return nil, errConstant // the values are too small to divide by
	}
	for y := range p.h {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		row := obj.Amplitude[(top+y)*o.Size+left:][:p.w]
		for x := range row {
			v := (p.pixels[y*p.w+x]/2 - floor/2) * scale
			row[x] = float32(math.Sqrt(math.Min(1, math.Max(0, v))))
		}
	}
	return obj, nil
}

// extremes returns the least and greatest value; 0, 0 if there are none.
func extremes(pixels []float64) (low, high float64) {
	if len(pixels) == 0 {
		return 0, 0
	}
	low, high = pixels[0], pixels[0]
	for _, v := range pixels {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	return low, high
}
