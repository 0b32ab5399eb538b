package loss

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

// testWindow is a window that is not symmetric by accident of its values.
var testWindow = Window{0.3, 0.2, 0.1, 0.03, 0.015, 0.005}

func TestSSIMProductsArePlainGos(t *testing.T) {
	vectest.EachSet(t, func(t *testing.T, s vec.Set, rng *rand.Rand) {
		const pitch = 21
		p, u := vectest.Guarded(t, rng, 9*pitch+TileSide), vectest.Guarded(t, rng, 9*pitch+TileSide)
		var rows [TileReach]int32
		for i := range rows {
			rows[i] = int32(rng.IntN(10) * pitch)
		}
		rows[3] = 9 * pitch // the plane's last row
		got, want := vectest.Guarded(t, rng, 4*TileReach*TileSide), make([]float32, 4*TileReach*TileSide)
		SSIMProducts(s, got, p, u, &rows)
		ssimProducts(want, p, u, &rows)
		vectest.Same(t, "products", got, want, 2)
	})
}

func TestBlurTurnIsPlainGos(t *testing.T) {
	vectest.EachSet(t, func(t *testing.T, s vec.Set, rng *rand.Rand) {
		for tiles := 1; tiles <= 3; tiles++ {
			const yStep, xStep = TileSide*TileSide + 5, 3
			x := vectest.Guarded(t, rng, (tiles-1)*xStep+TileReach*TileSide)
			got := vectest.Guarded(t, rng, (tiles-1)*yStep+TileSide*TileSide)
			want := slices.Clone(got) // including the gaps between the tiles
			BlurTurn(s, got, yStep, x, xStep, tiles, &testWindow)
			blurTurn(want, yStep, x, xStep, tiles, &testWindow)
			vectest.Same(t, "tile", got, want, WindowTaps)
		}
	})
}

// The moments are those of pixels between 0 and 1, with variances that they can have.
func TestScoresArePlainGos(t *testing.T) {
	vectest.EachSet(t, func(t *testing.T, s vec.Set, rng *rand.Rand) {
		for n := 1; n <= 9; n++ {
			for _, full := range []bool{true, false} {
				xStep, yStep := (n+WindowTaps-1)*TileSide+7, n*TileSide+3
				x := vectest.Guarded(t, rng, 3*xStep+(n+WindowTaps-1)*TileSide)
				for i := range xStep - 7 {
					p, q := rng.Float32(), rng.Float32()
					x[i], x[xStep+i], x[2*xStep+i], x[3*xStep+i] = p, q, (p-q)*(p-q), p*q
				}
				got := vectest.Guarded(t, rng, 2*yStep+n*TileSide)
				want := slices.Clone(got)
				var sums, wantSums [TileSide]float32
				if sums[0] = 5; full { // overwritten
					SSIMScore(s, got, yStep, x, xStep, n, &testWindow, &sums)
				} else {
					ContrastScore(s, got, yStep, x, xStep, n, &testWindow, &sums)
				}
				score(want, yStep, x, xStep, n, &testWindow, &wantSums, full)
				// Variances are differences of blurred squares, and divisors here.
				for i, v := range want {
					if d := math.Abs(float64(got[i] - v)); !(d <= 1e-4*math.Max(1, math.Abs(float64(v)))) {
						t.Fatalf("full %v, %d columns: [%d] = %v, plain Go has %v", full, n, i, got[i], v)
					}
				}
				vectest.Same(t, "sums", sums[:], wantSums[:], 200*n)
			}
		}
	})
}

func TestEqualPixelsLackNothing(t *testing.T) {
	for _, s := range vec.Available() {
		const n, step = 3, (3 + WindowTaps - 1) * TileSide
		x, y := make([]float32, 4*step), make([]float32, 3*step)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range step {
			v := rng.Float32()
			x[i], x[step+i], x[3*step+i] = v, v, v*v
		}
		for _, kernel := range []func(vec.Set, []float32, int, []float32, int, int, *Window, *[TileSide]float32){SSIMScore, ContrastScore} {
			var sums [TileSide]float32
			kernel(s, y, step, x, step, n, &testWindow, &sums)
			if sums != [TileSide]float32{} {
				t.Errorf("%v: equal planes lack %v", s, sums)
			}
		}
	}
}

func TestBlurCombineIsPlainGos(t *testing.T) {
	vectest.EachSet(t, func(t *testing.T, s vec.Set, rng *rand.Rand) {
		for _, pitch := range []int{TileSide, TileSide + 3, 200} {
			const step = TileReach*TileSide + 9
			size := (TileSide-1)*pitch + TileSide
			maps := vectest.Guarded(t, rng, 2*step+TileReach*TileSide)
			p, u, got := vectest.Guarded(t, rng, size), vectest.Guarded(t, rng, size), vectest.Guarded(t, rng, size)
			want := slices.Clone(got) // including the gaps between the rows
			BlurCombine(s, got, pitch, p, u, maps, step, &testWindow, 0.7)
			blurCombine(want, pitch, p, u, maps, step, &testWindow, 0.7)
			vectest.Same(t, "gradient", got, want, 3*WindowTaps)
		}
	})
}
