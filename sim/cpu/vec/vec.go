// Package vec holds the loops that take nearly all of the engine's time: tiles of
// convolutions and matrix products, dot products, Adam and rows of elements.
//
// Each is a method of Set, the instruction set it runs on: plain Go, AVX2 with FMA
// or AVX-512. The comment of the plain Go form gives the sum that is computed. The
// other forms are tested against it, and it runs if the processor or the build
// (tag noasm, other architectures) has nothing better. The assembly is generated
// by the program in internal/gen.
//
// The sets may add in different orders and round differently. One set gives the
// same bits for the same operands, whatever the number of threads.
package vec

import (
	"slices"

	"prismtop/sim/cpu/features"
)

//go:generate go run ./internal/gen

// Set is an instruction set of the kernels. Only values returned by Available may
// be used.
type Set uint8

// The sets, slowest first.
const (
	Go Set = iota
	AVX2
	AVX512
)

// names are the users' names for the sets.
var names = [...]string{Go: "go", AVX2: "avx2", AVX512: "avx512"}

func (s Set) String() string { return names[s] }

// Lanes returns the number of float32 in a vector.
func (s Set) Lanes() int { return [...]int{Go: 1, AVX2: 8, AVX512: 16}[s] }

// Built reports whether this build has the set's kernels.
func (s Set) Built() bool { return slices.Contains(built, s) }

// Available returns the sets of this build that this processor can run, fastest
// first; the last is Go.
func Available() []Set {
	var sets []Set
	for _, support := range features.Detect().Sets {
		if i := slices.Index(names[:], support.Name); i >= 0 && support.Available && Set(i).Built() {
			sets = append(sets, Set(i))
		}
	}
	return append(sets, Go)
}
