package fft

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"prismtop/sim/npy/npytest"
)

func TestTransformsMatchReferenceNumbers(t *testing.T) {
	g := npytest.OpenGolden(t, "../../../../shared/golden", "fft.npz")
	for _, c := range []string{"a", "b", "c", "d", "e"} {
		shape, x := g.Shape(c+".x"), npytest.Read[complex64](g, c+".x")
		p, err := NewPlan(shape[0], shape[1])
		if err != nil {
			t.Fatal(err)
		}
		got := make([]complex64, len(x))
		check := func(name string, run func(), factor float32) {
			if !g.Has(c + "." + name + "_64") {
				return
			}
			run()
			for i := range got {
				got[i] *= complex(factor, 0)
			}
			g.AcceptComplex(c+"."+name, got)
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
