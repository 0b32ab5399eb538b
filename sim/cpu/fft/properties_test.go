package fft

import (
	"math"
	"math/cmplx"
	"slices"
	"sync"
	"testing"

	"prismtop/sim/cpu/vec"
)

// goroutines runs each of n ranges on its own goroutine.
func goroutines(n int, body func(lo, hi int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { body(i, i+1) })
	}
	wg.Wait()
}

var propertySizes = [][2]int{{64, 64}, {128, 32}, {16, 256}, {40, 64}, {33, 50}, {2, 8}}

func TestResultsHaveTheSameBitsOnAnyNumberOfThreads(t *testing.T) {
	for _, s := range propertySizes {
		p, _ := NewPlan(s[0], s[1])
		x := randomPlane(s[0]*s[1], 3)
		want, got := make([]complex64, len(x)), make([]complex64, len(x))
		p.CentredForward(want, x, Bounds{}, nil)
		p.CentredForward(got, x, Bounds{}, goroutines)
		if !slices.Equal(got, want) {
			t.Errorf("%v: serial and parallel differ", s)
		}
		copy(got, x)
		p.CentredForward(got, got, Bounds{}, goroutines)
		if !slices.Equal(got, want) {
			t.Errorf("%v: parallel in place differs from serial", s)
		}
		wantReal, gotReal := make([]float32, len(x)), make([]float32, len(x))
		p.CentredInverseReal(wantReal, x, Bounds{}, nil)
		p.CentredInverseReal(gotReal, x, Bounds{}, goroutines)
		p.CentredForwardReal(want, wantReal, Bounds{}, nil)
		p.CentredForwardReal(got, wantReal, Bounds{}, goroutines)
		if !slices.Equal(gotReal, wantReal) || !slices.Equal(got, want) {
			t.Errorf("%v: serial and parallel differ in the real forms", s)
		}
	}
}

func TestInPlaceAndRebuiltPlansGiveTheSameBits(t *testing.T) {
	for _, s := range propertySizes {
		p, _ := NewPlan(s[0], s[1])
		x := randomPlane(s[0]*s[1], 4)
		want := make([]complex64, len(x))
		p.Inverse(want, x, nil)
		for _, ws := range p.all {
			clear(ws.strips[0])
		}
		for _, l := range []*Lines{p.row, p.column} {
			if l == nil {
				continue
			}
			clear(l.starts)
			for _, pass := range l.passes {
				clear(pass.twiddles)
				clear(pass.centred)
			}
		}
		p.Rebuild()
		p.Inverse(x, x, nil)
		if !slices.Equal(x, want) {
			t.Errorf("%v: in place after Rebuild differs", s)
		}
	}
}

func energy(x []complex64) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(real(v))*float64(real(v)) + float64(imag(v))*float64(imag(v))
	}
	return sum
}

// inner is Re Σ conj(a)·b.
func inner(a, b []complex64) float64 {
	var sum float64
	for i := range a {
		sum += float64(real(a[i]))*float64(real(b[i])) + float64(imag(a[i]))*float64(imag(b[i]))
	}
	return sum
}

func TestCentredTransformIsUnitary(t *testing.T) {
	for _, s := range propertySizes {
		p, _ := NewPlan(s[0], s[1])
		x, y := randomPlane(s[0]*s[1], 5), randomPlane(s[0]*s[1], 6)
		ax, aty := make([]complex64, len(x)), make([]complex64, len(x))
		p.CentredForward(ax, x, Bounds{}, nil)
		p.CentredInverse(aty, y, Bounds{}, nil)
		// Sums of rounding errors of about 1e-7 each, relative to the energy.
		if e := math.Abs(energy(ax)/energy(x) - 1); e > 1e-6 {
			t.Errorf("%v: energy changed by %.3g", s, e)
		}
		if e := math.Abs(inner(ax, y)-inner(x, aty)) / energy(x); e > 1e-6 {
			t.Errorf("%v: ⟨Ax,y⟩ and ⟨x,A*y⟩ differ by %.3g", s, e)
		}
	}
}

func TestRealFormsMatchTheComplexOnes(t *testing.T) {
	for _, s := range append([][2]int{{1, 16}, {2, 16}, {5, 48}, {6, 32}, {16, 24}}, propertySizes...) {
		n := s[0] * s[1]
		p, _ := NewPlan(s[0], s[1])
		x := make([]float32, n)
		z := make([]complex64, n)
		for i, v := range randomPlane(n, 7) {
			x[i], z[i] = real(v), complex(real(v), 0)
		}
		got, want := make([]complex64, n), make([]complex64, n)
		p.CentredForwardReal(got, x, Bounds{}, nil)
		p.CentredForward(want, z, Bounds{}, nil)
		if e := energy(difference(got, want)) / energy(want); e > 1e-13 {
			t.Errorf("%v: forward of a real plane is off by %.3g", s, math.Sqrt(e))
		}
		y := randomPlane(n, 8)
		back := make([]float32, n)
		p.CentredInverseReal(back, y, Bounds{}, nil)
		p.CentredInverse(want, y, Bounds{}, nil)
		for i, v := range want {
			if math.Abs(float64(back[i]-real(v))) > 2e-6 {
				t.Fatalf("%v: real part at %d is %g, want %g", s, i, back[i], real(v))
			}
		}
	}
}

func difference(a, b []complex64) []complex64 {
	d := make([]complex64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

func TestZerosAreTransformedExactly(t *testing.T) {
	const n = 64
	p, _ := NewPlan(n, n)
	x := make([]complex64, n*n)
	copy(x[24*n:40*n], randomPlane(16*n, 9))
	x[5*n+3] = complex(0, float32(math.Copysign(0, -1)))
	got := slices.Repeat([]complex64{7}, n*n)
	p.Forward(got, x, nil)
	if e := relative(got, direct(x, n, n, -1)); e > 2e-6 {
		t.Errorf("relative error %.3g", e)
	}
	x[60*n] = complex(float32(math.NaN()), 0)
	p.Forward(got, x, nil)
	if !math.IsNaN(float64(real(got[0]))) {
		t.Error("a NaN vanished")
	}
}

func TestTransformsAllocateNothing(t *testing.T) {
	for _, s := range [][2]int{{64, 64}, {30, 17}} {
		n := s[0] * s[1]
		p, _ := NewPlan(s[0], s[1])
		x, r := randomPlane(n, 1), make([]float32, n)
		if a := testing.AllocsPerRun(20, func() {
			p.Forward(x, x, nil)
			p.CentredInverse(x, x, Bounds{}, nil)
			p.CentredForwardReal(x, r, Bounds{}, nil)
			p.CentredInverseReal(r, x, Bounds{}, nil)
			p.Rebuild()
		}); a != 0 {
			t.Errorf("%v: %v allocations", s, a)
		}
	}
}

func TestImpossibleSizesAreErrors(t *testing.T) {
	for _, s := range [][2]int{{0, 4}, {4, -1}, {MaxSide + 1, 1}} {
		if _, err := NewPlan(s[0], s[1]); err == nil {
			t.Errorf("%v: no error", s)
		}
	}
}

// TestLongLinesMatchTheirHalves splits a line into its even and odd elements, whose
// transforms give the line's (decimation in time), so that every length is held to
// the one before it and the shortest to the definition.
func TestLongLinesMatchTheirHalves(t *testing.T) {
	for n := 2 * MinLines; n <= 8192; n *= 2 {
		long, _ := NewPlan(MinLines, n)
		short, _ := NewPlan(MinLines, n/2)
		x, got := randomPlane(MinLines*n, 12), make([]complex64, MinLines*n)
		long.Forward(got, x, nil)
		even, odd := make([]complex64, len(x)/2), make([]complex64, len(x)/2)
		for i := range even {
			even[i], odd[i] = x[2*i], x[2*i+1]
		}
		short.Forward(even, even, nil)
		short.Forward(odd, odd, nil)
		want := make([]complex64, len(x))
		for i := range even {
			row, k := i/(n/2), i%(n/2)
			w := cmplx.Rect(1, -2*math.Pi*float64(k)/float64(n))
			turned := complex64(w * complex128(odd[i]))
			want[row*n+k], want[row*n+k+n/2] = even[i]+turned, even[i]-turned
		}
		if e := math.Sqrt(energy(difference(got, want)) / energy(want)); e > 1e-6 {
			t.Errorf("%d elements: relative error %.3g", n, e)
		}
	}
}

func TestEverySetOfKernelsGivesTheSameTransform(t *testing.T) {
	for _, s := range [][2]int{{64, 128}, {512, 16}, {32, 1024}} {
		p, _ := NewPlan(s[0], s[1])
		x, want, got := randomPlane(s[0]*s[1], 13), make([]complex64, s[0]*s[1]), make([]complex64, s[0]*s[1])
		p.SetKernels(vec.Go)
		p.CentredForward(want, x, Bounds{}, nil)
		for _, set := range vec.Available() {
			p.SetKernels(set)
			p.CentredForward(got, x, Bounds{}, nil)
			if e := math.Sqrt(energy(difference(got, want)) / energy(want)); e > 1e-6 {
				t.Errorf("%v: %v is off by %.3g", s, set, e)
			}
		}
	}
}

func TestBoundsChangeNothingWithinThem(t *testing.T) {
	for _, s := range [][2]int{{64, 64}, {40, 30}, {33, 50}} {
		h, w := s[0], s[1]
		p, _ := NewPlan(h, w)
		b := Bounds{InColumns: [2]int{w / 3, w/3 + 7}, OutRows: [2]int{h / 5, h/5 + 19}}
		x := randomPlane(h*w, 14)
		for i := range x {
			if j := i % w; j < b.InColumns[0] || j >= b.InColumns[1] {
				x[i] = 0
			}
		}
		want, got := make([]complex64, h*w), slices.Repeat([]complex64{7}, h*w)
		wantReal, gotReal := make([]float32, h*w), slices.Repeat([]float32{7}, h*w)
		p.CentredForward(want, x, Bounds{}, nil)
		p.CentredForward(got, x, b, nil)
		p.CentredInverseReal(wantReal, x, Bounds{}, nil)
		p.CentredInverseReal(gotReal, x, b, nil)
		for i := b.OutRows[0] * w; i < b.OutRows[1]*w; i++ {
			if got[i] != want[i] || gotReal[i] != wantReal[i] {
				t.Fatalf("%v: element %d is %v and %v, without bounds %v and %v", s, i, got[i], gotReal[i], want[i], wantReal[i])
			}
		}
		if got[0] != 0 && got[0] != want[0] || gotReal[h*w-1] != 0 && gotReal[h*w-1] != wantReal[h*w-1] {
			t.Errorf("%v: rubbish is left outside the bounds", s)
		}
	}
}
