package fft

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"prismtop/sim/npy/npytest"
)

const golden = "../../../../shared/golden/fft.npz"

type archive struct {
	t *testing.T
	r *npytest.Reader
}

func openGolden(t *testing.T) archive {
	t.Helper()
	if _, err := os.Stat(golden); err != nil {
		t.Skipf("no reference numbers: %s is absent", filepath.Base(golden))
	}
	r, err := npytest.Open(golden)
	if err != nil {
		t.Fatal(err)
	}
	return archive{t, r}
}

func (a archive) has(name string) bool { return a.r.Has(name) }

func (a archive) shape(name string) []int { return a.r.Shape(name) }

func (a archive) read(name string, ptr any) {
	a.t.Helper()
	if err := a.r.Read(name, ptr); err != nil {
		a.t.Fatalf("%s: %v", name, err)
	}
}

// complexPair reads NAME_64 and NAME_32.
func (a archive) complexPair(name string) (truth []complex128, torch []complex64) {
	a.t.Helper()
	a.read(name+"_64", &truth)
	a.read(name+"_32", &torch)
	return truth, torch
}

// accept applies the acceptance of the reference numbers' README:
// max|got−64| ≤ 8·max|32−64| + 1e-6·max|64|.
func accept(t *testing.T, name string, got, torch []complex64, truth []complex128) {
	t.Helper()
	var worst, reference, largest float64
	for i, want := range truth {
		worst = max(worst, cmplx.Abs(complex128(got[i])-want))
		reference = max(reference, cmplx.Abs(complex128(torch[i])-want))
		largest = max(largest, cmplx.Abs(want))
	}
	if bound := 8*reference + 1e-6*largest; !(worst <= bound) {
		t.Errorf("%s: off by %.3g, allowed %.3g", name, worst, bound)
	}
}

func TestTransformsMatchReferenceNumbers(t *testing.T) {
	a := openGolden(t)
	for _, c := range []string{"a", "b", "c", "d", "e"} {
		shape := a.shape(c + ".x")
		var x []complex64
		a.read(c+".x", &x)
		p, err := NewPlan(shape[0], shape[1])
		if err != nil {
			t.Fatal(err)
		}
		got := make([]complex64, len(x))
		check := func(name string, run func(), factor float32) {
			if !a.has(c + "." + name + "_64") {
				return
			}
			run()
			for i := range got {
				got[i] *= complex(factor, 0)
			}
			truth, torch := a.complexPair(c + "." + name)
			accept(t, c+"."+name, got, torch, truth)
		}
		n := float64(len(x))
		check("fft2", func() { p.Forward(got, x, nil) }, 1)
		check("ifft2", func() { p.Inverse(got, x, nil) }, float32(1/n))
		check("fft2_ortho", func() { p.Forward(got, x, nil) }, float32(1/math.Sqrt(n)))
		check("cfft2", func() { p.CentredForward(got, x, Bounds{}, nil) }, 1)
	}
}

// direct is the definition in float64: row transforms, then column transforms.
func direct(x []complex64, h, w int, sign float64) []complex128 {
	rows := make([]complex128, h*w)
	for j := range h {
		for v := range w {
			for k := range w {
				rows[j*w+v] += complex128(x[j*w+k]) * cmplx.Rect(1, sign*2*math.Pi*float64(k*v%w)/float64(w))
			}
		}
	}
	out := make([]complex128, h*w)
	for u := range h {
		for v := range w {
			for j := range h {
				out[u*w+v] += rows[j*w+v] * cmplx.Rect(1, sign*2*math.Pi*float64(j*u%h)/float64(h))
			}
		}
	}
	return out
}

func randomPlane(n int, seed uint64) []complex64 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]complex64, n)
	for i := range x {
		x[i] = complex(float32(r.NormFloat64()), float32(r.NormFloat64()))
	}
	return x
}

// relative is max|got−want| over the root mean square of want, which for a
// transform of white noise stays near 1e-7 times a small factor.
func relative(got []complex64, want []complex128) float64 {
	var worst, power float64
	for i := range want {
		worst = max(worst, cmplx.Abs(complex128(got[i])-want[i]))
		power += real(want[i])*real(want[i]) + imag(want[i])*imag(want[i])
	}
	return worst / math.Sqrt(power/float64(len(want)))
}

var sizes = [][2]int{
	{1, 1}, {1, 2}, {2, 1}, {2, 2}, {4, 4}, {8, 8}, {16, 16}, {32, 8}, {8, 64}, {128, 16},
	{3, 5}, {7, 8}, {8, 7}, {9, 9}, {12, 20}, {16, 17}, {33, 64}, {1, 13}, {100, 1},
}

func TestForwardAndInverseMatchTheDefinition(t *testing.T) {
	for _, s := range sizes {
		h, w := s[0], s[1]
		p, err := NewPlan(h, w)
		if err != nil {
			t.Fatal(err)
		}
		x := randomPlane(h*w, 7)
		got := make([]complex64, h*w)
		p.Forward(got, x, nil)
		if e := relative(got, direct(x, h, w, -1)); e > 2e-6 {
			t.Errorf("forward %d×%d: relative error %.3g", h, w, e)
		}
		p.Inverse(got, x, nil)
		if e := relative(got, direct(x, h, w, +1)); e > 2e-6 {
			t.Errorf("inverse %d×%d: relative error %.3g", h, w, e)
		}
	}
}

// roll moves element [i, j] to [i+dy, j+dx], wrapping around.
func roll[T any](x []T, h, w, dy, dx int) []T {
	out := make([]T, len(x))
	for i := range h {
		for j := range w {
			out[(i+dy+h)%h*w+(j+dx+w)%w] = x[i*w+j]
		}
	}
	return out
}

func TestCentredTransformIsShiftTransformShift(t *testing.T) {
	for _, s := range sizes {
		h, w := s[0], s[1]
		p, _ := NewPlan(h, w)
		x := randomPlane(h*w, 8)
		want := roll(direct(roll(x, h, w, -(h/2), -(w/2)), h, w, -1), h, w, h/2, w/2)
		for i := range want {
			want[i] /= complex(math.Sqrt(float64(h*w)), 0)
		}
		got := make([]complex64, h*w)
		p.CentredForward(got, x, Bounds{}, nil)
		if e := relative(got, want); e > 2e-6 {
			t.Errorf("%d×%d: relative error %.3g", h, w, e)
		}
		p.CentredInverse(got, got, Bounds{}, nil)
		back := make([]complex128, len(x))
		for i, v := range x {
			back[i] = complex128(v)
		}
		if e := relative(got, back); e > 2e-6 {
			t.Errorf("%d×%d: inverse of forward is off by %.3g", h, w, e)
		}
	}
}
