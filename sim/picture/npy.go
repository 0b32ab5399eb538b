package picture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The NPY format (numpy.lib.format): magic, version, length of the header, a
// Python dictionary, data. This reads the part that holds plain numbers, without
// trusting a length that the file states.
const (
	npyMagic = "\x93NUMPY"
	// maxNPYHeader bounds the dictionary: numpy writes less than 200 bytes for
	// plain arrays.
	maxNPYHeader = 8 << 10
)

func isNPY(head []byte) bool { return strings.HasPrefix(string(head), npyMagic) }

// npyHeader says what an array holds.
type npyHeader struct {
	dtype   string
	fortran bool
	shape   []int64
}

// readNPY reads an array of two dimensions; size is how many bytes the stream
// says it has.
func readNPY(r io.Reader, size int64) (source, error) {
	h, headerSize, err := readNPYHeader(r)
	if err != nil {
		return source{}, err
	}
	if len(h.shape) != 2 {
		return source{}, fmt.Errorf("the array has shape (%s): must have two dimensions", joinShape(h.shape))
	}
	rows, columns := h.shape[0], h.shape[1]
	if rows > math.MaxInt32 || columns > math.MaxInt32 {
		return source{}, fmt.Errorf("the array has shape (%s): must be at most %d megapixels", joinShape(h.shape), maxPixels/1_000_000)
	}
	if err := checkSides(int(columns), int(rows)); err != nil {
		return source{}, err
	}
	number, err := numberOf(h.dtype)
	if err != nil {
		return source{}, err
	}
	if need := rows * columns * int64(number.size); need > size-headerSize {
		return source{}, fmt.Errorf("truncated NPY: shape (%s) of %s needs %d bytes, there are %d",
			joinShape(h.shape), h.dtype, need, max(0, size-headerSize))
	}
	a := array{w: int(columns), h: int(rows), fortran: h.fortran}
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

// read reads the values a line at a time, so that memory grows with what is
// really there.
func (a *array) read(r io.Reader, n number) error {
	lines, length := a.h, a.w
	if a.fortran {
		lines, length = length, lines
	}
	buffer := make([]byte, length*n.size)
	for line := range lines {
		if _, err := io.ReadFull(r, buffer); err != nil {
			return fmt.Errorf("truncated NPY: the data end in line %d of %d", line+1, lines)
		}
		for k := range length {
			v := n.read(buffer[k*n.size:])
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

// number reads one element type.
type number struct {
	size int
	read func([]byte) float64
}

// numberOf knows booleans, integers and floating point numbers up to 64 bits.
func numberOf(dtype string) (number, error) {
	var order binary.ByteOrder = binary.LittleEndian
	kind := dtype
	if len(dtype) > 0 && strings.ContainsRune("<>|=", rune(dtype[0])) {
		kind = dtype[1:]
		if dtype[0] == '>' {
			order = binary.BigEndian
		}
	}
	switch kind {
	case "b1", "u1":
		return number{1, func(b []byte) float64 { return float64(b[0]) }}, nil
	case "i1":
		return number{1, func(b []byte) float64 { return float64(int8(b[0])) }}, nil
	case "u2":
		return number{2, func(b []byte) float64 { return float64(order.Uint16(b)) }}, nil
	case "i2":
		return number{2, func(b []byte) float64 { return float64(int16(order.Uint16(b))) }}, nil
	case "u4":
		return number{4, func(b []byte) float64 { return float64(order.Uint32(b)) }}, nil
	case "i4":
		return number{4, func(b []byte) float64 { return float64(int32(order.Uint32(b))) }}, nil
	case "u8":
		return number{8, func(b []byte) float64 { return float64(order.Uint64(b)) }}, nil
	case "i8":
		return number{8, func(b []byte) float64 { return float64(int64(order.Uint64(b))) }}, nil
	case "f4":
		return number{4, func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) }}, nil
	case "f8":
		return number{8, func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }}, nil
	}
	return number{}, fmt.Errorf("the array's type is %s: must be real numbers, float32 or float64 or integers", strconv.Quote(dtype))
}

// readNPYHeader reads up to the data and tells how many bytes that were.
func readNPYHeader(r io.Reader) (npyHeader, int64, error) {
	var h npyHeader
	head := make([]byte, len(npyMagic)+2)
	if _, err := io.ReadFull(r, head); err != nil || !isNPY(head) {
		return h, 0, errors.New("truncated NPY: there is no header")
	}
	lengthBytes := 2
	if major := head[len(npyMagic)]; major < 1 || major > 3 {
		return h, 0, fmt.Errorf("NPY version %d: must be 1 to 3", major)
	} else if major > 1 {
		lengthBytes = 4
	}
	field := make([]byte, 4)
	if _, err := io.ReadFull(r, field[:lengthBytes]); err != nil {
		return h, 0, errors.New("truncated NPY: there is no header")
	}
	length := binary.LittleEndian.Uint32(field)
	if length > maxNPYHeader {
		return h, 0, fmt.Errorf("damaged NPY: a header of %d bytes, must be at most %d", length, maxNPYHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, 0, errors.New("truncated NPY: the header ends too early")
	}
	if err := h.parse(string(text)); err != nil {
		return h, 0, fmt.Errorf("damaged NPY: %w", err)
	}
	return h, int64(len(head) + lengthBytes + int(length)), nil
}

// parse reads the header's dictionary: 'descr', a string for plain numbers,
// 'fortran_order' and 'shape'.
func (h *npyHeader) parse(text string) error {
	d := dictionary{rest: strings.TrimSpace(text)}
	if !d.take("{") {
		return errors.New("the header is no dictionary")
	}
	seen := map[string]bool{}
	for !d.take("}") {
		key, ok := d.quoted()
		if !ok || !d.take(":") || seen[key] {
			return errors.New("the header cannot be read")
		}
		seen[key] = true
		switch key {
		case "descr":
			h.dtype, ok = d.quoted()
			if !ok {
				return errors.New("the array holds records: must hold plain numbers")
			}
		case "fortran_order":
			h.fortran = d.take("True")
			ok = h.fortran || d.take("False")
		case "shape":
			h.shape, ok = d.tuple()
		default:
			return fmt.Errorf("the header has an unknown entry %s", strconv.Quote(key))
		}
		if !ok || !d.take(",") && !strings.HasPrefix(d.rest, "}") {
			return fmt.Errorf("the header's %s cannot be read", key)
		}
	}
	if len(seen) != 3 || d.rest != "" {
		return errors.New("the header must hold descr, fortran_order and shape")
	}
	return nil
}

// dictionary reads the tokens of a Python dictionary.
type dictionary struct{ rest string }

func (d *dictionary) take(token string) bool {
	rest, ok := strings.CutPrefix(d.rest, token)
	if ok {
		d.rest = strings.TrimSpace(rest)
	}
	return ok
}

func (d *dictionary) quoted() (string, bool) {
	if d.rest == "" || d.rest[0] != '\'' && d.rest[0] != '"' {
		return "", false
	}
	end := strings.IndexByte(d.rest[1:], d.rest[0])
	if end < 0 {
		return "", false
	}
	text := d.rest[1 : end+1]
	d.rest = strings.TrimSpace(d.rest[end+2:])
	return text, true
}

func (d *dictionary) tuple() ([]int64, bool) {
	if !d.take("(") {
		return nil, false
	}
	inner, rest, ok := strings.Cut(d.rest, ")")
	if !ok {
		return nil, false
	}
	d.rest = strings.TrimSpace(rest)
	shape := []int64{}
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(inner), ","), ",") {
		part = strings.TrimSpace(part)
		if part == "" && len(shape) == 0 && strings.TrimSpace(inner) == "" {
			return shape, true
		}
		v, err := strconv.ParseUint(strings.TrimSuffix(part, "L"), 10, 63)
		if err != nil {
			return nil, false
		}
		shape = append(shape, int64(v))
	}
	return shape, true
}

func joinShape(shape []int64) string {
	parts := make([]string, len(shape))
	for i, v := range shape {
		parts[i] = strconv.FormatInt(v, 10)
		if i == 8 {
			return strings.Join(append(parts[:8], "…"), ", ")
		}
	}
	return strings.Join(parts, ", ")
}
