package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// testWindow is a window that is not symmetric by accident of its values.
var testWindow = Window{0.3, 0.2, 0.1, 0.03, 0.015, 0.005}

// withEach runs a test with every set but Go.
func withEach(t *testing.T, test func(t *testing.T, s Set, rng *rand.Rand)) {
	for _, s := range Available() {
		if s != Go {
			t.Run(s.String(), func(t *testing.T) { test(t, s, rand.New(rand.NewPCG(11, 3))) })
		}
	}
}

func TestSSIMProductsArePlainGos(t *testing.T) {
	withEach(t, func(t *testing.T, s Set, rng *rand.Rand) {
		const pitch = 21
		p, u := guarded(t, rng, 9*pitch+TileSide), guarded(t, rng, 9*pitch+TileSide)
		var rows [TileReach]int32
		for i := range rows {
			rows[i] = int32(rng.IntN(10) * pitch)
		}
		rows[3] = 9 * pitch // the plane's last row
		got, want := guarded(t, rng, 4*TileReach*TileSide), make([]float32, 4*TileReach*TileSide)
		s.SSIMProducts(got, p, u, &rows)
		ssimProducts(want, p, u, &rows)
		same(t, "products", got, want, 2)
	})
}

func TestBlurTurnIsPlainGos(t *testing.T) {
	withEach(t, func(t *testing.T, s Set, rng *rand.Rand) {
		for tiles := 1; tiles <= 3; tiles++ {
			const yStep, xStep = TileSide*TileSide + 5, 3
			x := guarded(t, rng, (tiles-1)*xStep+TileReach*TileSide)
			got := guarded(t, rng, (tiles-1)*yStep+TileSide*TileSide)
			want := slices.Clone(got) // including the gaps between the tiles
			s.BlurTurn(got, yStep, x, xStep, tiles, &testWindow)
			blurTurn(want, yStep, x, xStep, tiles, &testWindow)
			same(t, "tile", got, want, WindowTaps)
		}
	})
}

// The moments are those of pixels between 0 and 1, with variances that they can have.
func TestScoresArePlainGos(t *testing.T) {
	withEach(t, func(t *testing.T, s Set, rng *rand.Rand) {
		for n := 1; n <= 9; n++ {
			for _, full := range []bool{true, false} {
				xStep, yStep := (n+WindowTaps-1)*TileSide+7, n*TileSide+3
				x := guarded(t, rng, 3*xStep+(n+WindowTaps-1)*TileSide)
				for i := range xStep - 7 {
					p, q := rng.Float32(), rng.Float32()
					x[i], x[xStep+i], x[2*xStep+i], x[3*xStep+i] = p, q, (p-q)*(p-q), p*q
				}
				got := guarded(t, rng, 2*yStep+n*TileSide)
				want := slices.Clone(got)
				var sums, wantSums [TileSide]float32
				if sums[0] = 5; full { // overwritten
					s.SSIMScore(got, yStep, x, xStep, n, &testWindow, &sums)
				} else {
					s.ContrastScore(got, yStep, x, xStep, n, &testWindow, &sums)
				}
				score(want, yStep, x, xStep, n, &testWindow, &wantSums, full)
				// Variances are differences of blurred squares, and divisors here.
				for i, v := range want {
					if d := math.Abs(float64(got[i] - v)); !(d <= 1e-4*math.Max(1, math.Abs(float64(v)))) {
						t.Fatalf("full %v, %d columns: [%d] = %v, plain Go has %v", full, n, i, got[i], v)
					}
				}
				same(t, "sums", sums[:], wantSums[:], 200*n)
			}
		}
	})
}

func TestEqualPixelsLackNothing(t *testing.T) {
	for _, s := range Available() {
		const n, step = 3, (3 + WindowTaps - 1) * TileSide
		x, y := make([]float32, 4*step), make([]float32, 3*step)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range step {
			v := rng.Float32()
			x[i], x[step+i], x[3*step+i] = v, v, v*v
		}
		for _, kernel := range []func(Set, []float32, int, []float32, int, int, *Window, *[TileSide]float32){Set.SSIMScore, Set.ContrastScore} {
			var sums [TileSide]float32
			kernel(s, y, step, x, step, n, &testWindow, &sums)
			if sums != [TileSide]float32{} {
				t.Errorf("%v: equal planes lack %v", s, sums)
			}
		}
	}
}

func TestBlurCombineIsPlainGos(t *testing.T) {
	withEach(t, func(t *testing.T, s Set, rng *rand.Rand) {
		for _, pitch := range []int{TileSide, TileSide + 3, 200} {
			const step = TileReach*TileSide + 9
			size := (TileSide-1)*pitch + TileSide
			maps := guarded(t, rng, 2*step+TileReach*TileSide)
			p, u, got := guarded(t, rng, size), guarded(t, rng, size), guarded(t, rng, size)
			want := slices.Clone(got) // including the gaps between the rows
			s.BlurCombine(got, pitch, p, u, maps, step, &testWindow, 0.7)
			blurCombine(want, pitch, p, u, maps, step, &testWindow, 0.7)
			same(t, "gradient", got, want, 3*WindowTaps)
		}
	})
}
