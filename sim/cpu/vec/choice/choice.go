// Package choice finds the kernels that a user names: an instruction set, and beside it products on AMX or of
// pairs of bfloat16, if the processor has them and they agree with plain Go.
package choice

import (
	"fmt"
	"slices"
	"strings"

	"prismtop/sim/cpu/features"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/matrix"
)

// Users' names for the AVX-512 kernels combined with other products.
const (
	AMXName  = "amx"         // of tiles, on AMX
	BF16Name = "avx512-bf16" // of pairs of bfloat16
)

// Set finds an available set by its name; "auto" or "" is the fastest. "amx" and "avx512-bf16" are
// AVX512, whose kernels do everything that tiles and products of pairs do not. An unknown name, or a
// set that this build or processor lacks, is an error.
func Set(name string) (vec.Set, error) {
	if name == AMXName {
		if _, err := matrix.DetectTiles(); err != nil {
			return vec.Go, &UnavailableError{name, err.Error(), listed(vec.Available())}
		}
		return vec.AVX512, nil
	}
	if name == BF16Name {
		if _, _, err := DetectPairs(); err != nil {
			return vec.Go, &UnavailableError{name, err.Error(), listed(vec.Available())}
		}
		return vec.AVX512, nil
	}
	return among(name, vec.Available())
}

// among is Set among the available sets.
func among(name string, available []vec.Set) (vec.Set, error) {
	if name == "auto" || name == "" {
		return available[0], nil
	}
	var names []string
	for s := vec.Go; s <= vec.AVX512; s++ {
		names = append(names, s.String())
	}
	i := slices.Index(names, name)
	switch set := vec.Set(i); {
	case i < 0:
		return vec.Go, fmt.Errorf("kernels %q: must be auto, %s, %s, %s", name, strings.Join(names, ", "),
			BF16Name, AMXName)
	case !set.Built():
		return vec.Go, &UnavailableError{name, "they are not in this build", listed(available)}
	case !slices.Contains(available, set):
		return vec.Go, &UnavailableError{name, lacking(name), listed(available)}
	default:
		return set, nil
	}
}

// UnavailableError reports kernels that this machine cannot run.
type UnavailableError struct {
	Name string
	Why  string
	Runs string // kernels it can run instead
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("kernels %q: %s; this machine runs %s", e.Name, e.Why, e.Runs)
}

// listed names sets as error messages do.
func listed(sets []vec.Set) string {
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

// Tiles returns the tiles for a name accepted by Set: AMX, if available, for its own name and for
// "auto" or "".
func Tiles(name string) matrix.Tiles {
	if name != AMXName && name != "auto" && name != "" {
		return matrix.NoTiles
	}
	tiles, _ := matrix.DetectTiles()
	return tiles
}
