package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// lengths meets every remainder of a vector and of an unrolled loop.
var lengths = []int{1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 47, 48, 63, 64, 65, 100, 127, 128, 129, 260}

// guarded returns n random floats between words that a kernel must not touch, at
// an address that no vector is aligned to.
func guarded(t *testing.T, rng *rand.Rand, n int) []float32 {
	t.Helper()
	const guard = 40
	all := make([]float32, n+2*guard+1)
	skip := guard
	if uintptr(unsafe.Pointer(&all[guard]))%32 == 0 {
		skip++
	}
	for i := range all {
		all[i] = float32(math.NaN()) // poisons what reads it
	}
	x := all[skip : skip+n : skip+n]
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	t.Cleanup(func() {
		for i, v := range all {
			if (i < skip || i >= skip+n) && v == v {
				t.Errorf("wrote element %d of %d", i-skip, n)
			}
		}
	})
	return x
}

// forEach runs a test with every set but Go and every length.
func forEach(t *testing.T, test func(t *testing.T, s Set, rng *rand.Rand, n int)) {
	for _, s := range Available() {
		if s == Go {
			continue
		}
		for _, n := range lengths {
			t.Run(fmt.Sprintf("%v/%d", s, n), func(t *testing.T) { test(t, s, rand.New(rand.NewPCG(7, uint64(n))), n) })
		}
	}
}

// same compares results of two sets; terms of size 1 were added count times, each
// with a relative error of 2^-24 or less per operation.
func same(t *testing.T, what string, got, want []float32, count int) {
	t.Helper()
	tolerance := float64(count+4) * 0x1p-23
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tolerance) {
			t.Fatalf("%s[%d] = %v, plain Go has %v", what, i, got[i], want[i])
		}
	}
}

func TestTileIsPlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 11; rows++ {
			const k, stride = 13, 37
			pitch := n + rng.IntN(3)
			y, x := guarded(t, rng, (rows-1)*pitch+n), guarded(t, rng, n+50)
			w := guarded(t, rng, rows*stride)
			segments, weights := make([]int32, k), make([]int32, k)
			for i := range k {
				segments[i], weights[i] = int32(rng.IntN(51)), int32(rng.IntN(stride))
			}
			segments[0] = 50 // the last run ends with x
			want := slices.Clone(y)
			tile(want, pitch, rows, n, x, segments, weights, w, stride)
			s.Tile(y, pitch, rows, n, x, segments, weights, w, stride)
			same(t, fmt.Sprintf("%d rows: y", rows), y, want, k)
		}
	})
}

func TestDotsArePlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 6; rows++ {
			for k := 1; k <= 9; k++ {
				pitch, stride := k+2, n+3
				out, p := guarded(t, rng, (rows-1)*pitch+k), guarded(t, rng, (rows-1)*stride+n)
				x, segments := guarded(t, rng, n+20), make([]int32, k)
				for i := range segments {
					segments[i] = int32(rng.IntN(21))
				}
				segments[k-1] = 20
				want := slices.Clone(out)
				dots(want, pitch, rows, p, stride, n, x, segments)
				s.Dots(out, pitch, rows, p, stride, n, x, segments)
				same(t, fmt.Sprintf("%d rows, %d runs: out", rows, k), out, want, n)
			}
		}
	})
}

func TestAdamIsPlainGos(t *testing.T) {
	c := AdamScalars{Beta1: 0.9, Beta2: 0.999, Rate1: 0.1, Rate2: 0.001, Size: 0.01, Root: 1.5, Eps: 1e-3}
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		var got, want [5][]float32
		for i := range got {
			got[i] = guarded(t, rng, n)
			for j, v := range got[i] {
				if i == 2 || i == 3 { // second moments are not negative
					got[i][j] = v * v
				}
			}
			want[i] = slices.Clone(got[i])
		}
		s.Adam(got[0], got[1], got[2], got[4], &c)
		adam(want[0], want[1], want[2], want[4], &c)
		s.AMSGrad(got[0], got[1], got[2], got[3], got[4], &c)
		amsgrad(want[0], want[1], want[2], want[3], want[4], &c)
		for i, name := range []string{"p", "m", "v", "largest"} {
			same(t, name, got[i], want[i], 4)
		}
	})
}

func TestRowsArePlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		x, z := guarded(t, rng, n), guarded(t, rng, n)
		for name, run := range map[string]func(s Set, y []float32){
			"scale": func(s Set, y []float32) { s.Scale(y, x, 0.3) },
			"add":   func(s Set, y []float32) { s.Add(y, x, z) },
			"axpy":  func(s Set, y []float32) { s.Axpy(y, x, 0.3) },
			"relu":  func(s Set, y []float32) { s.ReLU(y, x) },

			"relu gradient": func(s Set, y []float32) { s.ReLUGrad(y, x, z) },
		} {
			got := guarded(t, rng, n)
			want := slices.Clone(got)
			run(s, got)
			run(Go, want)
			same(t, name, got, want, 1)
		}
	})
}

func TestReLUKeepsNaN(t *testing.T) {
	for _, s := range Available() {
		x, y := []float32{float32(math.NaN()), -1, 0, 2}, make([]float32, 4)
		s.ReLU(y, x)
		if y[0] == y[0] || y[1] != 0 || y[2] != 0 || y[3] != 2 {
			t.Errorf("%v: max(%v, 0) = %v", s, x, y)
		}
	}
}

func TestMaskIsPlainGos(t *testing.T) {
	for _, s := range Available() {
		for _, n := range lengths {
			rng := rand.New(rand.NewPCG(9, uint64(n)))
			z, m, got, want := make([]complex64, n), guarded(t, rng, n), make([]complex64, n+1), make([]complex64, n+1)
			for i := range z {
				z[i] = complex(rng.Float32(), rng.Float32())
			}
			s.Mask(got[:n], z, m)
			mask(want[:n], z, m)
			if !slices.Equal(got, want) {
				t.Fatalf("%v: %d elements: %v, want %v", s, n, got, want)
			}
		}
	}
}

func TestLengthsAreChecked(t *testing.T) {
	for _, s := range Available() {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: a short operand was accepted", s)
				}
			}()
			s.Add(make([]float32, 4), make([]float32, 3), make([]float32, 4))
		}()
	}
}

func TestRowsAreMovedAsPlainGoDoes(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		const rows = 3
		xPitch, yPitch := 2*n+1, n+2
		for name, move := range map[string]func(s Set, y, x []float32){
			"copy":        func(s Set, y, x []float32) { s.CopyRows(y, yPitch, x[len(x)-(rows-1)*xPitch-n:], xPitch, rows, n) },
			"every other": func(s Set, y, x []float32) { s.EveryOther(y, yPitch, x, xPitch, rows, n) },
		} {
			x, got := guarded(t, rng, (rows-1)*xPitch+2*n-1), guarded(t, rng, (rows-1)*yPitch+n)
			want := slices.Clone(got)
			move(s, got, x)
			move(Go, want, x)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %v, plain Go has %v", name, got, want)
			}
		}
	})
}

func TestNonZeroSeesEveryElement(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		x := guarded(t, rng, n)
		clear(x)
		for i := range x {
			x[i] = float32(math.Copysign(0, -1))
			if s.NonZero(x) {
				t.Fatalf("−0 at %d of %d is not zero", i, n)
			}
			x[i] = math.SmallestNonzeroFloat32
			if !s.NonZero(x) {
				t.Fatalf("element %d of %d was not seen", i, n)
			}
			x[i] = 0
		}
	})
}

func TestDoubledRowsArePlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 3; rows++ {
			x, y := guarded(t, rng, rows*n), guarded(t, rng, 4*rows*n)
			want := slices.Clone(y)
			doubleRows(want, x, rows, n)
			s.DoubleRows(y, x, rows, n)
			if !slices.Equal(y, want) {
				t.Errorf("%d rows are not the same", rows)
			}
		}
	})
}

func TestMaxPoolIsPlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 3; rows++ {
			y, x := guarded(t, rng, rows*n), guarded(t, rng, 4*rows*n)
			for i := range 4 {
				x[rng.IntN(len(x))] = float32(math.NaN())
				x[i*n/2] = x[i*n/2+1]
			}
			want := slices.Clone(y)
			maxPool(want, x, rows, n)
			s.MaxPool(y, x, rows, n)
			for i, v := range want {
				if y[i] != v && (y[i] == y[i] || v == v) {
					t.Fatalf("%d rows: y[%d] = %v, plain Go has %v", rows, i, y[i], v)
				}
			}
		}
	})
}

func TestInterleaveRowsIsPlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 3; rows++ {
			pitch := 2*n + rng.IntN(5)
			y, even, odd := guarded(t, rng, (rows-1)*pitch+2*n), guarded(t, rng, rows*n), guarded(t, rng, rows*n)
			want := slices.Clone(y)
			interleaveRows(want, pitch, even, odd, rows, n)
			s.InterleaveRows(y, pitch, even, odd, rows, n)
			if !slices.Equal(y, want) {
				t.Errorf("%d rows are not the same", rows)
			}
		}
	})
}

func TestPadRowsIsPlainGos(t *testing.T) {
	forEach(t, func(t *testing.T, s Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 3; rows++ {
			y, x := guarded(t, rng, rows*(n+2)), guarded(t, rng, rows*n)
			want := slices.Clone(y)
			padRows(want, x, rows, n)
			s.PadRows(y, x, rows, n, 1000)
			if !slices.Equal(y, want) {
				t.Errorf("%d rows are not the same", rows)
			}
		}
	})
}
