package host

import (
	"context"
	"math"
	"testing"

	"prismtop/sim/optics"
)

const goldenFolder = "../../../../shared/golden"

func drawn(n int, a optics.Aperture, c optics.Point) []float32 {
	m := make([]float32, n*n)
	if err := a.Add(context.Background(), m, optics.Coordinates(n), c); err != nil {
		panic(err) // the context never ends
	}
	return m
}

// must returns the value and fails the test on an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %.10g, want %.10g within %g", what, got, want, tolerance)
	}
}

// A host of no options computes on one thread, and its telescopes count on its plans.
func TestTheZeroHost(t *testing.T) {
	h := New(Options{})
	telescope := must[optics.Telescope](t)(h.Telescope(32))
	y := make([]float32, 32*32)
	if err := telescope.Measure(t.Context(), y, ones(32*32), drawn(32, optics.Aperture{Radius: 4}, optics.Point{}), optics.Support{}); err != nil {
		t.Fatal(err)
	}
	if c := h.Plans().Counters(); c.Misses != 1 || c.Entries != 1 {
		t.Errorf("plans %+v", c)
	}
	if before := h.Attach(t.Context()); before != nil {
		t.Errorf("%v was attached", before)
	}
	var parts [][2]int
	if h.Parallel(5, func(lo, hi int) { parts = append(parts, [2]int{lo, hi}) }); len(parts) != 1 || parts[0] != [2]int{0, 5} {
		t.Errorf("parts %v", parts)
	}
	if _, err := h.Telescope(0); err == nil {
		t.Error("a telescope for no pixels")
	}
}
