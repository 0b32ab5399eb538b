package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The NPY format (numpy.lib.format) has a magic string, a version, the length of
// the header, a Python dictionary, and data.

// maxHeader bounds the dictionary that ReadHeader reads: NumPy writes less than
// 200 bytes for plain arrays.
const maxHeader = 8 << 10

// Header describes an array of plain numbers.
type Header struct {
	Type    string // NumPy's name for the element type, such as "<f4"
	Fortran bool   // stored by columns
	Shape   []int64
}

// ReadHeader reads up to the data and returns the number of bytes read. No length
// in the file is trusted.
func ReadHeader(r io.Reader) (Header, int64, error) {
	var h Header
	head := make([]byte, len(magic)+2)
	if _, err := io.ReadFull(r, head); err != nil || !IsArray(head) {
		return h, 0, errors.New("truncated NPY: there is no header")
	}
	major := head[len(magic)]
	lengthBytes := lengthBytes(major)
	if lengthBytes == 0 {
		return h, 0, fmt.Errorf("NPY version %d: must be 1 to 3", major)
	}
	field := make([]byte, 4)
	if _, err := io.ReadFull(r, field[:lengthBytes]); err != nil {
		return h, 0, errors.New("truncated NPY: there is no header")
	}
	length := binary.LittleEndian.Uint32(field)
	if length > maxHeader {
		return h, 0, fmt.Errorf("damaged NPY: a header of %d bytes, must be at most %d", length, maxHeader)
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

// lengthBytes returns the size of the header-length field in a major version of
// the format; 0 for an unknown version.
func lengthBytes(major byte) int {
	switch major {
	case 1:
		return 2
	case 2, 3:
		return 4
	}
	return 0
}

// parse reads the header's dictionary: 'descr', a string for plain numbers,
// 'fortran_order' and 'shape'.
func (h *Header) parse(text string) error {
	d := dictionary{rest: strings.TrimSpace(text)}
	if !d.take("{") {
		return errors.New("the header is not a dictionary")
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
			h.Type, ok = d.quoted()
			if !ok {
				return errors.New("the array holds records: must hold plain numbers")
			}
		case "fortran_order":
			h.Fortran = d.take("True")
			ok = h.Fortran || d.take("False")
		case "shape":
			h.Shape, ok = d.tuple()
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
	return parseShape(strings.TrimSpace(inner))
}

// parseShape reads the inside of a Python tuple: "", "3,", "2, 3".
func parseShape(text string) ([]int64, bool) {
	shape := []int64{}
	if strings.TrimSpace(text) == "" {
		return shape, true
	}
	for field := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		v, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(field), "L"), 10, 63)
		if err != nil {
			return nil, false
		}
		shape = append(shape, int64(v))
	}
	return shape, true
}
