// Package tensor names the shapes and element types that the engine computes
// with. It holds no data: memory belongs to the backend that computes on it.
package tensor

import (
	"fmt"
	"strconv"
	"strings"
)

// DType is the element type of an array.
type DType uint8

// The element types. Arithmetic is always float32; the 16-bit types are storage
// types of mixed precision, rounded to nearest even.
const (
	Float32 DType = iota
	BFloat16
	Float16
	Complex64
)

// Size returns the size of one element in bytes.
func (d DType) Size() int64 {
	switch d {
	case BFloat16, Float16:
		return 2
	case Complex64:
		return 8
	default:
		return 4
	}
}

// String returns the type's usual short name: float32, bf16, fp16, complex64.
func (d DType) String() string {
	switch d {
	case Float32:
		return "float32"
	case BFloat16:
		return "bf16"
	case Float16:
		return "fp16"
	case Complex64:
		return "complex64"
	}
	return fmt.Sprintf("DType(%d)", uint8(d))
}

// Shape lists the sizes of an array's axes, slowest first: [N, C, H, W] for
// images, [H, W] for one plane. The empty shape is a scalar.
type Shape []int

// Elements returns the number of elements, 1 for a scalar.
func (s Shape) Elements() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Equal reports whether both shapes have the same axes.
func (s Shape) Equal(t Shape) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if s[i] != t[i] {
			return false
		}
	}
	return true
}

// Plane returns the sizes of the last two axes, rows first. It panics on
// shapes with fewer than two axes, which is a programming error.
func (s Shape) Plane() (h, w int) { return s[len(s)-2], s[len(s)-1] }

// String prints the shape as 1x256x4x4, and a scalar as "scalar".
func (s Shape) String() string {
	if len(s) == 0 {
		return "scalar"
	}
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = strconv.Itoa(d)
	}
	return strings.Join(parts, "x")
}
