package cpu

import (
	"context"
	"unsafe"

	"prismtop/profiles/await"
)

// Memory for buffers: slabs, aligned and cut into typed slices, and views of these as parts and halves.

// alignment of every buffer: a cache line.
const alignment = 64

// slab is a block of memory from which typed slices are cut.
type slab struct {
	words []uint64 // keeps the memory alive
	base  unsafe.Pointer
	size  int64
}

// hugePage is the size of a huge page.
const hugePage = 2 << 20

// newSlab makes a zeroed slab of size bytes, aligned to a cache line.
func newSlab(size int64) slab {
	words := make([]uint64, (size+alignment)/8+1)
	base := unsafe.Pointer(&words[0])
	skip := -uintptr(base) & (alignment - 1)
	base = unsafe.Add(base, skip)
	if size >= hugePage {
		adviseHuge(base, size)
	}
	return slab{words: words, base: base, size: size}
}

// hugeSlab is the size from which clearing reused memory takes long.
const hugeSlab = 256 << 20

// newSlabWithin is newSlab, unless ctx ends first; the memory is then dropped.
func newSlabWithin(ctx context.Context, size int64) (slab, error) {
	if size < hugeSlab {
		return newSlab(size), ctx.Err()
	}
	return await.Result(ctx, func() (slab, error) { return newSlab(size), nil })
}

func roundUp(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// cut returns n elements of type T at a byte offset. It panics if they reach
// beyond the slab.
func cut[T float32 | float64 | uint16 | complex64](s *slab, offset int64, n int) []T {
	var t T
	if offset < 0 || offset%alignment != 0 || offset+int64(n)*int64(unsafe.Sizeof(t)) > s.size {
		panic("cpu: slice outside its slab")
	}
	return unsafe.Slice((*T)(unsafe.Add(s.base, offset)), n)[:n:n]
}

// parts returns complex64 values as alternating real and imaginary parts, in
// place.
func parts(z []complex64) []float32 {
	if len(z) == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&z[0])), 2*len(z))
}

// asHalves returns the memory of floats as two 16-bit numbers each.
func asHalves(x []float32) []uint16 {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*uint16)(unsafe.Pointer(&x[0])), 2*len(x))
}
