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

//go:generate go run ./internal/gen

import (
	"fmt"
	"slices"
	"strings"

	"prismtop/sim/cpu/features"
)

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

// Available returns the sets of this build that this processor can run, fastest
// first; the last is Go.
func Available() []Set {
	var sets []Set
	for _, support := range features.Detect().Sets {
		if i := slices.Index(names[:], support.Name); i >= 0 && support.Available && slices.Contains(built, Set(i)) {
			sets = append(sets, Set(i))
		}
	}
	return append(sets, Go)
}

// Choose finds an available set by its name; "auto" or "" is the fastest. "amx" and "avx512-bf16" are
// AVX512, whose kernels do everything that tiles and products of pairs do not. An unknown name, or a
// set that this build or processor lacks, is an error.
func Choose(name string) (Set, error) {
	if name == AMXName {
		if _, err := DetectTiles(); err != nil {
			return Go, &UnavailableError{name, err.Error(), listed(Available())}
		}
		return AVX512, nil
	}
	if name == BF16Name {
		if _, _, err := DetectPairs(); err != nil {
			return Go, &UnavailableError{name, err.Error(), listed(Available())}
		}
		return AVX512, nil
	}
	return choose(name, Available())
}

// choose is Choose among the available sets.
func choose(name string, available []Set) (Set, error) {
	if name == "auto" || name == "" {
		return available[0], nil
	}
	i := slices.Index(names[:], name)
	switch {
	case i < 0:
		return Go, fmt.Errorf("kernels %q: must be auto, %s, %s, %s", name, strings.Join(names[:], ", "), BF16Name, AMXName)
	case !slices.Contains(built, Set(i)):
		return Go, &UnavailableError{name, "they are not in this build", listed(available)}
	case !slices.Contains(available, Set(i)):
		return Go, &UnavailableError{name, lacking(name), listed(available)}
	}
	return Set(i), nil
}

// UnavailableError reports kernels that this machine cannot run.
type UnavailableError struct {
	Name string
	Why  string
	Runs string // kernels it can run instead
}

// Error names the kernels, the reason, and the alternatives.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("kernels %q: %s; this machine runs %s", e.Name, e.Why, e.Runs)
}

// listed names sets as error messages do.
func listed(sets []Set) string {
	words := []string{"auto"}
	for _, s := range sets {
		words = append(words, s.String())
	}
	return strings.Join(words, ", ")
}

// lacking returns why the processor cannot run a set.
func lacking(name string) string {
	for _, support := range features.Detect().Sets {
		if support.Name == name && support.Reason != "" {
			return support.Reason
		}
	}
	return "not for this processor"
}
