package verify

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"prismtop/sim/tensor"
)

// array is one NPY array. Every element type is widened to float64, which holds
// all of them exactly (int64 within ±2^53).
type array struct {
	shape   tensor.Shape
	kind    string    // numpy's type: "<f4"
	values  []float64 // row-major; real and imaginary part in turn when complex
	complex bool
}

// maxAxes bounds the number of axes of an array.
const maxAxes = 8

// npyHeader is the header as numpy writes it, padded by spaces to its end.
var npyHeader = regexp.MustCompile(`^\{'descr': '([<|][a-z][0-9]+)', 'fortran_order': (False|True), 'shape': \(([0-9, ]*)\), \} *\n$`)

// element reads one element type.
type element struct {
	size    int
	complex bool
	read    func(b []byte) float64
}

var elements = map[string]element{
	"<f4":  {4, false, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }},
	"<f8":  {8, false, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }},
	"<c8":  {4, true, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }},
	"<c16": {8, true, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }},
	"<i4":  {4, false, func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }},
	"<i8":  {8, false, func(b []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(b))) }},
	"|u1":  {1, false, func(b []byte) float64 { return float64(b[0]) }},
	"|b1":  {1, false, func(b []byte) float64 { return float64(b[0]) }},
}

// parseNPY reads an array in numpy's format, versions 1 to 3, in C order.
func parseNPY(data []byte) (*array, error) {
	if len(data) < 12 || string(data[:6]) != "\x93NUMPY" {
		return nil, errors.New("is not in NPY format")
	}
	start, length := 10, int(binary.LittleEndian.Uint16(data[8:]))
	if data[6] == 2 || data[6] == 3 {
		start, length = 12, int(binary.LittleEndian.Uint32(data[8:]))
	}
	if data[6] < 1 || data[6] > 3 || data[7] != 0 || length > len(data)-start {
		return nil, errors.New("has a damaged NPY header")
	}
	fields := npyHeader.FindSubmatch(data[start : start+length])
	if fields == nil {
		return nil, errors.New("has an NPY header that numpy would not write")
	}
	kind := string(fields[1])
	e, known := elements[kind]
	if !known {
		return nil, fmt.Errorf("has elements of type %s, which no check uses", kind)
	}
	shape, err := parseShape(string(fields[3]))
	if err != nil {
		return nil, err
	}
	if string(fields[2]) == "True" && len(shape) > 1 {
		return nil, errors.New("is in Fortran order; C order is wanted")
	}
	return e.array(kind, shape, data[start+length:])
}

// parseShape reads a Python tuple's inside: "", "3,", "2, 3".
func parseShape(text string) (tensor.Shape, error) {
	shape := tensor.Shape{}
	count := 1
	for field := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		field = strings.TrimSpace(field)
		if field == "" && strings.TrimSpace(text) == "" {
			break
		}
		n, err := strconv.Atoi(field)
		if err != nil || len(shape) == maxAxes {
			return nil, fmt.Errorf("has the shape (%s)", text)
		}
		if n < 1 || n > maxArray/count {
			return nil, fmt.Errorf("has the shape (%s): empty or too large", text)
		}
		count *= n
		shape = append(shape, n)
	}
	return shape, nil
}

func (e element) array(kind string, shape tensor.Shape, data []byte) (*array, error) {
	n := shape.Elements()
	if e.complex {
		n *= 2
	}
	if len(data) != n*e.size {
		return nil, fmt.Errorf("has %d bytes of data, its shape %v and type %s want %d", len(data), shape, kind, n*e.size)
	}
	a := &array{shape: shape, kind: kind, complex: e.complex, values: make([]float64, n)}
	for i := range a.values {
		a.values[i] = e.read(data[i*e.size:])
	}
	return a, nil
}

// float32s is the array as the engine reads it.
func (a *array) float32s() []float32 {
	f := make([]float32, len(a.values))
	for i, v := range a.values {
		f[i] = float32(v)
	}
	return f
}
