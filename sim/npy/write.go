package npy

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Writer writes an NPZ archive, array by array and uncompressed, as NumPy's savez does. NumPy
// and this package read it.
type Writer struct{ zip *zip.Writer }

// NewWriter returns a Writer of an archive to w. Close ends the archive.
func NewWriter(w io.Writer) *Writer { return &Writer{zip.NewWriter(w)} }

// Comment sets the archive's comment, which NumPy ignores.
func (w *Writer) Comment(text string) error { return w.zip.SetComment(text) }

// Close writes the archive's directory.
func (w *Writer) Close() error { return w.zip.Close() }

// Add writes an array with the given shape, row by row and bit for bit. It panics if the shape
// does not hold the number of values, which is a programming error.
func Add[T float32 | float64 | uint8 | complex64](w *Writer, name string, shape []int, values []T) error {
	check(name, shape, len(values))
	entry, err := w.zip.CreateHeader(&zip.FileHeader{Name: name + extension, Method: zip.Store})
	if err != nil {
		return err
	}
	return write(entry, shape, values)
}

// Write writes an NPY file as Add writes an array, and panics for the same reason.
func Write[T float32 | float64 | uint8 | complex64](w io.Writer, shape []int, values []T) error {
	check("array", shape, len(values))
	return write(w, shape, values)
}

// check panics if a shape does not hold the number of values.
func check(name string, shape []int, values int) {
	count := 1
	for _, n := range shape {
		count *= n
	}
	if count != values {
		panic(fmt.Sprintf("npy: %q: %d values for the shape %v", name, values, shape))
	}
}

func write[T float32 | float64 | uint8 | complex64](w io.Writer, shape []int, values []T) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	buffered.Write(header(kindOf(values), shape)) // bufio keeps the first error for Flush
	var number [8]byte
	switch values := any(values).(type) {
	case []uint8:
		buffered.Write(values)
	case []float32:
		for _, v := range values {
			binary.LittleEndian.PutUint32(number[:], math.Float32bits(v))
			buffered.Write(number[:4])
		}
	case []complex64:
		for _, v := range values {
			binary.LittleEndian.PutUint32(number[:], math.Float32bits(real(v)))
			binary.LittleEndian.PutUint32(number[4:], math.Float32bits(imag(v)))
			buffered.Write(number[:])
		}
	case []float64:
		for _, v := range values {
			binary.LittleEndian.PutUint64(number[:], math.Float64bits(v))
			buffered.Write(number[:])
		}
	}
	return buffered.Flush()
}

// kindOf returns NumPy's name of the values' type.
func kindOf(values any) string {
	switch values.(type) {
	case []float32:
		return "<f4"
	case []float64:
		return "<f8"
	case []complex64:
		return "<c8"
	}
	return "|u1"
}

// header returns everything in front of an array's data, version 1.0. The data start at a
// multiple of 64 bytes, after a line feed.
func header(kind string, shape []int) []byte {
	axes := make([]string, len(shape))
	for i, n := range shape {
		axes[i] = strconv.Itoa(n)
	}
	inside := strings.Join(axes, ", ")
	if len(axes) == 1 {
		inside += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, inside)
	text += strings.Repeat(" ", 63-(len(magic)+4+len(text))%64) + "\n"
	out := append([]byte(magic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	return append(out, text...)
}
