package npy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"

	"prismtop/profiles/unit"
	"prismtop/sim/tensor"
)

// MaxStrict bounds the size of a file for ReadStrict, and the total size of its
// arrays; maxArray bounds one array. Both are in bytes.
const (
	MaxStrict = 1 << 28
	maxArray  = 1 << 26
)

// maxAxes bounds the number of axes of an array.
const maxAxes = 8

// Array is a completely read array. Every element type is widened to float64,
// which represents all of them exactly, int64 within ±2^53.
type Array struct {
	Shape   tensor.Shape
	Type    string    // NumPy's name: "<f4"
	Complex bool      // Values alternates real and imaginary parts
	Values  []float64 // row-major
}

// Damage is a fault of an archive. Array is empty if the fault lies outside all
// arrays.
type Damage struct {
	Array string
	Err   error
}

func (d Damage) Error() string {
	if d.Array == "" {
		return "zip: " + d.Err.Error()
	}
	return fmt.Sprintf("array %s: %v", printable(d.Array), d.Err)
}

// ReadStrict reads every array of an NPZ file written by NumPy's savez or
// savez_compressed. accept may reject element types by name; it is called before
// the data are read.
//
// The archive is read more strictly than zip tools do. Every byte of the file belongs
// to a local header, its data, the directory or the end record, and anything the
// format states twice must agree, so that no byte can change unnoticed.
//
// Damaged arrays are reported together with the intact ones. The error is damage
// that prevents finding the arrays, or that of ctx.
func ReadStrict(ctx context.Context, data []byte, accept func(kind string) error) (map[string]*Array, []Damage, error) {
	entries, err := strictEntries(data)
	if err != nil {
		return nil, nil, err
	}
	arrays := make(map[string]*Array, len(entries))
	var damaged []Damage
	total := uint64(0)
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if e.UncompressedSize64 > maxArray {
			return nil, nil, Damage{e.name, errors.New("is larger than " + unit.Limit(maxArray))}
		}
		if total += e.UncompressedSize64; total > MaxStrict {
			return nil, nil, errors.New("zip: the arrays hold more than " + unit.Limit(MaxStrict))
		}
		var a *Array
		raw, err := e.unpack(ctx)
		if err == nil {
			a, err = parseStrict(raw, accept)
		}
		if err != nil {
			damaged = append(damaged, Damage{e.name, err})
		} else {
			arrays[e.name] = a
		}
	}
	return arrays, damaged, nil
}

// strictHeader is the header as NumPy writes it, padded with spaces.
var strictHeader = regexp.MustCompile(`^\{'descr': '([<|][a-z][0-9]+)', 'fortran_order': (False|True), 'shape': \(([0-9, ]*)\), \} *\n$`)

// parseStrict reads an array in NumPy's format, versions 1 to 3, in C order.
func parseStrict(data []byte, accept func(kind string) error) (*Array, error) {
	if len(data) < 12 || !IsArray(data) {
		return nil, errors.New("is not in NPY format")
	}
	start, length := 8+lengthBytes(data[6]), 0
	switch start {
	case 10:
		length = int(binary.LittleEndian.Uint16(data[8:]))
	case 12:
		length = int(binary.LittleEndian.Uint32(data[8:]))
	}
	if start == 8 || data[7] != 0 || length > len(data)-start {
		return nil, errors.New("has a damaged NPY header")
	}
	fields := strictHeader.FindSubmatch(data[start : start+length])
	if fields == nil {
		return nil, errors.New("has an NPY header that numpy would not write")
	}
	kind := string(fields[1])
	if err := accept(kind); err != nil {
		return nil, err
	}
	e, known := ElementOf(kind)
	if !known {
		return nil, fmt.Errorf("has elements of unknown type %s", kind)
	}
	shape, err := strictShape(string(fields[3]))
	if err != nil {
		return nil, err
	}
	if string(fields[2]) == "True" && len(shape) > 1 {
		return nil, errors.New("is in Fortran order; C order is wanted")
	}
	return e.array(kind, shape, data[start+length:])
}

// strictShape rejects shapes without elements and those with more elements than
// an array may hold.
func strictShape(text string) (tensor.Shape, error) {
	axes, ok := parseShape(text)
	if !ok || len(axes) > maxAxes {
		return nil, fmt.Errorf("has the shape (%s)", text)
	}
	shape, count := make(tensor.Shape, len(axes)), int64(1)
	for i, n := range axes {
		if n < 1 || n > maxArray/count {
			return nil, fmt.Errorf("has the shape (%s): empty or too large", text)
		}
		count *= n
		shape[i] = int(n)
	}
	return shape, nil
}

func (e Element) array(kind string, shape tensor.Shape, data []byte) (*Array, error) {
	n := shape.Elements()
	if e.Complex {
		n *= 2
	}
	if len(data) != n*e.Size {
		return nil, fmt.Errorf("has %d bytes of data, its shape %v and type %s want %d", len(data), shape, kind,
			n*e.Size)
	}
	a := &Array{Shape: shape, Type: kind, Complex: e.Complex, Values: make([]float64, n)}
	for i := range a.Values {
		a.Values[i] = e.Read(data[i*e.Size:])
	}
	return a, nil
}
