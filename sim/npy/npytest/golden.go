package npytest

import (
	"math"
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

// Names lists the arrays.
func (g Golden) Names() []string { return g.r.Names() }

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

// Accept applies the acceptance of the reference numbers' README:
// max|got−64| ≤ 8·max|32−64| + 1e-6·max|64|.
func (g Golden) Accept(name string, got []float32) {
	g.t.Helper()
	truth, torch := Read[float64](g, name+"_64"), Read[float32](g, name+"_32")
	var worst, reference, largest float64
	for i, want := range truth {
		worst = max(worst, math.Abs(float64(got[i])-want))
		reference = max(reference, math.Abs(float64(torch[i])-want))
		largest = max(largest, math.Abs(want))
	}
	if bound := 8*reference + 1e-6*largest; !(worst <= bound) {
		g.t.Errorf("%s: off by %.3g, allowed %.3g", name, worst, bound)
	}
}
