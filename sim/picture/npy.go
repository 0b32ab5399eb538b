package picture

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"prismtop/sim/npy"
)

// readNPY reads an array of two dimensions; size is the claimed length of the
// stream in bytes.
func readNPY(r io.Reader, size int64) (source, error) {
	h, headerSize, err := npy.ReadHeader(r)
	if err != nil {
		return source{}, err
	}
	if len(h.Shape) != 2 {
		return source{}, fmt.Errorf("the array has shape (%s): must have two dimensions", npy.JoinShape(h.Shape))
	}
	rows, columns := h.Shape[0], h.Shape[1]
	if rows > math.MaxInt32 || columns > math.MaxInt32 {
		return source{}, fmt.Errorf("the array has shape (%s): must be at most %d megapixels", npy.JoinShape(h.Shape),
			maxPixels/1_000_000)
	}
	if err := checkSides(int(columns), int(rows)); err != nil {
		return source{}, err
	}
	number, known := npy.ElementOf(h.Type)
	if !known || number.Complex {
		return source{}, fmt.Errorf("the array's type is %s: must be real numbers, float32 or float64 or integers",
			strconv.Quote(h.Type))
	}
	if need := rows * columns * int64(number.Size); need > size-headerSize {
		return source{}, fmt.Errorf("truncated NPY: shape (%s) of %s needs %d bytes, there are %d",
			npy.JoinShape(h.Shape), h.Type, need, max(0, size-headerSize))
	}
	a := array{w: int(columns), h: int(rows), fortran: h.Fortran}
	if err := a.read(r, number); err != nil {
		return source{}, err
	}
	return source{w: a.w, h: a.h, white: math.NaN(), row: a.row}, nil
}

// array is a matrix as stored: by rows, or by columns when fortran.
type array struct {
	w, h    int
	fortran bool
	values  []float64
}

// read reads the values line by line, so that memory grows with the actual data.
func (a *array) read(r io.Reader, number npy.Element) error {
	lines, length := a.h, a.w
	if a.fortran {
		lines, length = length, lines
	}
	buffer := make([]byte, length*number.Size)
	for line := range lines {
		if _, err := io.ReadFull(r, buffer); err != nil {
			return fmt.Errorf("truncated NPY: the data end in line %d of %d", line+1, lines)
		}
		for k := range length {
			v := number.Read(buffer[k*number.Size:])
			if math.IsNaN(v) || math.IsInf(v, 0) {
				row, column := line, k
				if a.fortran {
					row, column = k, line
				}
				return fmt.Errorf("the array has %g at [%d, %d]: must hold finite numbers", v, row, column)
			}
			a.values = append(a.values, v)
		}
	}
	return nil
}

// row copies row y.
func (a *array) row(y int, to []float64) error {
	if !a.fortran {
		copy(to, a.values[y*a.w:][:a.w])
		return nil
	}
	for x := range to {
		to[x] = a.values[x*a.h+y]
	}
	return nil
}
