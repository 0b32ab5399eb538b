package npytest

import (
	"math/cmplx"
	"os"
	"path/filepath"
	"testing"
)

// Golden is a file of reference numbers, read by a reader independent of package
// npy.
type Golden struct {
	t testing.TB
	r *Reader
}

// OpenGolden opens a file of reference numbers until the test ends, and skips the
// test if there is none.
func OpenGolden(t testing.TB, folder, name string) Golden {
	t.Helper()
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no reference numbers: %s is absent", name)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return Golden{t, r}
}

// For returns the file for a subtest.
func (g Golden) For(t testing.TB) Golden { return Golden{t, g.r} }

// Names lists the arrays.
func (g Golden) Names() []string { return g.r.Names() }

// Has reports whether there is an array.
func (g Golden) Has(name string) bool { return g.r.Has(name) }

// Read returns an array's elements, row by row.
func Read[T any](g Golden, name string) []T {
	g.t.Helper()
	var v []T
	if err := g.r.Read(name, &v); err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	return v
}

// Shape returns an array's shape.
func (g Golden) Shape(name string) []int { return g.r.Shape(name) }

// Accept applies the acceptance of the reference numbers' README, by which a program in float32 is judged by the
// errors of PyTorch's: max|got−64| ≤ 8·max|32−64| + 1e-6·max|64|.
func (g Golden) Accept(name string, got []float32) {
	g.t.Helper()
	truth, torch := Read[float64](g, name+"_64"), Read[float32](g, name+"_32")
	g.accept(name, len(got), len(truth), func(i int) (x, t, p complex128) {
		return complex(float64(got[i]), 0), complex(truth[i], 0), complex(float64(torch[i]), 0)
	})
}

// AcceptComplex is Accept of complex numbers, whose errors are moduli.
func (g Golden) AcceptComplex(name string, got []complex64) {
	g.t.Helper()
	truth, torch := Read[complex128](g, name+"_64"), Read[complex64](g, name+"_32")
	g.accept(name, len(got), len(truth), func(i int) (x, t, p complex128) {
		return complex128(got[i]), truth[i], complex128(torch[i])
	})
}

// accept judges n numbers of which there should be as many as want: numbers returns ours, the truth and PyTorch's.
func (g Golden) accept(name string, n, want int, numbers func(i int) (got, truth, torch complex128)) {
	g.t.Helper()
	if n != want {
		g.t.Errorf("%s has %d elements, want %d", name, n, want)
		return
	}
	var worst, reference, largest float64
	for i := range n {
		got, truth, torch := numbers(i)
		if d := cmplx.Abs(got - truth); !(d <= worst) { // NaN, too
			worst = d
		}
		reference = max(reference, cmplx.Abs(torch-truth))
		largest = max(largest, cmplx.Abs(truth))
	}
	if bound := 8*reference + 1e-6*largest; !(worst <= bound) {
		g.t.Errorf("%s: off by %.3g, allowed %.3g (largest value %.3g)", name, worst, bound, largest)
	}
}
