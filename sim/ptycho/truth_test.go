package ptycho

import (
	"math"
	"math/cmplx"
	"strings"
	"testing"

	"prismtop/sim/ptycho/scan"
)

// wavy is an object whose values change slowly, so that the bilinear weights of a
// reassembly hardly blur it.
func wavy(side int) *scan.Object {
	o := &scan.Object{Height: side, Width: side, Values: make([]complex64, side*side)}
	for i := range o.Values {
		y, x := float64(i/side), float64(i%side)
		o.Values[i] = complex64(cmplx.Rect(0.6+0.3*math.Sin(0.15*x), 0.8*math.Cos(0.12*y)))
	}
	return o
}

// A perfect reconstruction, times any complex number, is aligned to the truth; one that is
// off by a known amount has that error.
func TestAlignmentRemovesWhatDiffractionDoesNotShow(t *testing.T) {
	const n = 64
	o := wavy(160)
	var centres [][2]float64
	for i := range 36 {
		centres = append(centres, [2]float64{70 + 4.25*float64(i%6), 69.5 + 4*float64(i/6)})
	}
	patches := func(change complex128) (all []complex64) {
		for _, c := range centres {
			for _, v := range o.Window(c[1]-n/2, c[0]-n/2, n) {
				all = append(all, complex64(complex128(v)*change))
			}
		}
		return all
	}
	truth, err := NewTruth(o, n, centres)
	if err != nil {
		t.Fatal(err)
	}
	if truth.Side < 30 || len(truth.Values) != truth.Side*truth.Side {
		t.Errorf("the truth has a side of %d", truth.Side)
	}
	align := func(objects []complex64) *Alignment {
		t.Helper()
		canvas, err := Reassemble(objects, n, centres)
		if err != nil {
			t.Fatal(err)
		}
		a, err := truth.Align(canvas)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, factor := range []complex128{1, cmplx.Rect(0.3, 2.5), cmplx.Rect(40, -3)} {
		if a := align(patches(factor)); a.Error > 0.005 || a.PhaseError > 0.005 {
			t.Errorf("times %v: error %g, phase error %g", factor, a.Error, a.PhaseError)
		}
	}
	// A phase of +0.2 in the upper half and −0.2 in the lower one is left by any factor: sin 0.2
	// of the modulus is at right angles to the truth.
	canvas, err := Reassemble(patches(1), n, centres)
	if err != nil {
		t.Fatal(err)
	}
	for i := range canvas.Object {
		turn := cmplx.Rect(1, 0.2)
		if i >= len(canvas.Object)/2 {
			turn = cmplx.Rect(1, -0.2)
		}
		canvas.Object[i] = complex64(complex128(canvas.Object[i]) * turn)
	}
	a, err := truth.Align(canvas)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(a.PhaseError-0.2) > 0.01 || math.Abs(a.Error-math.Sin(0.2)) > 0.01 {
		t.Errorf("phase error %g, error %g, want 0.2 and %g", a.PhaseError, a.Error, math.Sin(0.2))
	}
	if dark := align(make([]complex64, len(patches(1)))); dark.Error != 1 {
		t.Errorf("nothing has an error of %g, want 1", dark.Error)
	}
	if _, err := truth.Align(&Canvas{Side: 3}); err == nil {
		t.Error("a canvas of other groups is aligned")
	}
}

func TestTooFewPositionsAreNotCompared(t *testing.T) {
	sparse := [][2]float64{{50, 50}, {110, 110}, {50, 110}, {110, 50}}
	_, err := NewTruth(wavy(160), 64, sparse)
	if err == nil || !strings.Contains(err.Error(), "4 positions leave gaps") {
		t.Errorf("four distant positions: %v", err)
	}
}

func TestTrainedPathIsOfTheNetwork(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_STATE_HOME", folder)
	for name, big := range map[string]bool{"weights-N128-s3-g2.npz": true, "weights-N128-s3-g2-inner.npz": false} {
		path, err := TrainedPath(Config{Size: 128, GridSize: 2, FiltersScale: 3, ProbeBig: big})
		if want := folder + "/prismtop/ptycho/" + name; err != nil || path != want {
			t.Errorf("%s, %v, want %s", path, err, want)
		}
	}
	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", folder)
	if path, err := TrainedPath(DefaultConfig()); err != nil || !strings.HasPrefix(path, folder+"/.local/state/") {
		t.Errorf("%s, %v", path, err)
	}
}
