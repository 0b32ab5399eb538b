package optics

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbinet/npyio/npz"
)

// archive is a file of reference numbers.
type archive struct {
	t *testing.T
	r *npz.Reader
}

func openGolden(t *testing.T, name string) archive {
	t.Helper()
	path := filepath.Join("../../../shared/golden", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no reference numbers: %s is absent", name)
	}
	r, err := npz.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return archive{t, r}
}

func (a archive) names() []string {
	var names []string
	for _, k := range a.r.Keys() {
		names = append(names, strings.TrimSuffix(k, ".npy"))
	}
	return names
}

func read[T any](a archive, name string) []T {
	a.t.Helper()
	var v []T
	if err := a.r.Read(name+".npy", &v); err != nil {
		a.t.Fatalf("%s: %v", name, err)
	}
	return v
}

func (a archive) shape(name string) []int { return a.r.Header(name + ".npy").Descr.Shape }

// accept applies the acceptance of the reference numbers' README:
// max|got−64| ≤ 8·max|32−64| + 1e-6·max|64|.
func (a archive) accept(name string, got []float32) {
	a.t.Helper()
	truth, torch := read[float64](a, name+"_64"), read[float32](a, name+"_32")
	var worst, reference, largest float64
	for i, want := range truth {
		worst = max(worst, math.Abs(float64(got[i])-want))
		reference = max(reference, math.Abs(float64(torch[i])-want))
		largest = max(largest, math.Abs(want))
	}
	if bound := 8*reference + 1e-6*largest; !(worst <= bound) {
		a.t.Errorf("%s: off by %.3g, allowed %.3g", name, worst, bound)
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %.10g, want %.10g within %g", what, got, want, tolerance)
	}
}
