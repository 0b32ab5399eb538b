package elements

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

func TestRowsAreMovedAsPlainGoDoes(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		const rows = 3
		xPitch, yPitch := 2*n+1, n+2
		for name, move := range map[string]func(s vec.Set, y, x []float32){
			"copy":        func(s vec.Set, y, x []float32) { CopyRows(s, y, yPitch, x[len(x)-(rows-1)*xPitch-n:], xPitch, rows, n) },
			"every other": func(s vec.Set, y, x []float32) { EveryOther(s, y, yPitch, x, xPitch, rows, n) },
		} {
			x, got := vectest.Guarded(t, rng, (rows-1)*xPitch+2*n-1), vectest.Guarded(t, rng, (rows-1)*yPitch+n)
			want := slices.Clone(got)
			move(s, got, x)
			move(vec.Go, want, x)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %v, plain Go has %v", name, got, want)
			}
		}
	})
}

func TestNonZeroSeesEveryElement(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		x := vectest.Guarded(t, rng, n)
		clear(x)
		for i := range x {
			x[i] = float32(math.Copysign(0, -1))
			if NonZero(s, x) {
				t.Fatalf("−0 at %d of %d is not zero", i, n)
			}
			x[i] = math.SmallestNonzeroFloat32
			if !NonZero(s, x) {
				t.Fatalf("element %d of %d was not seen", i, n)
			}
			x[i] = 0
		}
	})
}

func TestDoubledRowsArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 3; rows++ {
			x, y := vectest.Guarded(t, rng, rows*n), vectest.Guarded(t, rng, 4*rows*n)
			want := slices.Clone(y)
			doubleRows(want, x, rows, n)
			DoubleRows(s, y, x, rows, n)
			if !slices.Equal(y, want) {
				t.Errorf("%d rows are not the same", rows)
			}
		}
	})
}

func TestMaxPoolIsPlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 3; rows++ {
			y, x := vectest.Guarded(t, rng, rows*n), vectest.Guarded(t, rng, 4*rows*n)
			for i := range 4 {
				x[rng.IntN(len(x))] = float32(math.NaN())
				x[i*n/2] = x[i*n/2+1]
			}
			want := slices.Clone(y)
			maxPool(want, x, rows, n)
			MaxPool(s, y, x, rows, n)
			for i, v := range want {
				if y[i] != v && (y[i] == y[i] || v == v) {
					t.Fatalf("%d rows: y[%d] = %v, plain Go has %v", rows, i, y[i], v)
				}
			}
		}
	})
}

func TestInterleaveRowsIsPlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 3; rows++ {
			pitch := 2*n + rng.IntN(5)
			y, even, odd := vectest.Guarded(t, rng, (rows-1)*pitch+2*n), vectest.Guarded(t, rng, rows*n), vectest.Guarded(t, rng, rows*n)
			want := slices.Clone(y)
			interleaveRows(want, pitch, even, odd, rows, n)
			InterleaveRows(s, y, pitch, even, odd, rows, n)
			if !slices.Equal(y, want) {
				t.Errorf("%d rows are not the same", rows)
			}
		}
	})
}

func TestPadRowsIsPlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		for rows := 1; rows <= 3; rows++ {
			y, x := vectest.Guarded(t, rng, rows*(n+2)), vectest.Guarded(t, rng, rows*n)
			want := slices.Clone(y)
			padRows(want, x, rows, n)
			PadRows(s, y, x, rows, n, 1000)
			if !slices.Equal(y, want) {
				t.Errorf("%d rows are not the same", rows)
			}
		}
	})
}
