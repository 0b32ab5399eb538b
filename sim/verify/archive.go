package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prismtop/profiles/inputfile"
	"prismtop/profiles/unit"
	"prismtop/sim/npy"
	"prismtop/sim/tensor"
)

// array is one array of a file of reference vectors.
type array struct {
	shape   tensor.Shape
	kind    string    // numpy's type: "<f4"
	values  []float64 // row-major; real and imaginary parts alternate if complex
	complex bool
}

// kinds are the element types of reference vectors.
var kinds = []string{"<f4", "<f8", "<c8", "<c16", "<i4", "<i8", "|u1", "|b1"}

func checkKind(kind string) error {
	if !slices.Contains(kinds, kind) {
		return fmt.Errorf("has elements of type %s, which no check uses", kind)
	}
	return nil
}

// readArchive reads every array of a file. Damaged arrays are reported together
// with the intact ones; damage that prevents finding the arrays is the error.
func readArchive(ctx context.Context, path string) (map[string]*array, []npy.Damage, error) {
	data, err := inputfile.Read(ctx, path, npy.MaxStrict)
	var kind *inputfile.KindError
	var size *inputfile.SizeError
	switch {
	case errors.As(err, &kind), errors.As(err, &size):
		return nil, nil, fmt.Errorf("%s: %w: needs a file of at most %s", path, err, unit.Limit(npy.MaxStrict))
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	read, damaged, err := npy.ReadStrict(ctx, data, checkKind)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	arrays := make(map[string]*array, len(read))
	for name, a := range read {
		arrays[name] = &array{a.Shape, a.Type, a.Values, a.Complex}
	}
	return arrays, damaged, nil
}

// float32s returns the array in the engine's type.
func (a *array) float32s() []float32 {
	f := make([]float32, len(a.values))
	for i, v := range a.values {
		f[i] = float32(v)
	}
	return f
}
