package conv

import (
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
	"prismtop/sim/tensor"
)

func TestTapSumOfPairsIsPlainGos(t *testing.T) {
	pairs := vectest.Pairs(t)
	for vectors := 1; vectors <= 8; vectors++ {
		for _, taps := range []int{1, 4, 9} {
			for channels := 1; channels <= 3; channels++ {
				for _, fold := range []int{0, 11} {
					compareTapSums(t, ofPairs(pairs), vectest.GuardedPairs, vectors, taps, channels, fold, TapRows,
						func(s *TapSum, p *Pixels) { s.sum(p, PairLanes, true) })
				}
			}
		}
	}
}

func TestTapSumOfFewRowsIsPlainGos(t *testing.T) {
	pairs := vectest.Pairs(t)
	for rows := 1; rows < TapRows; rows++ {
		for vectors := 1; vectors <= 5; vectors++ {
			for _, taps := range []int{1, 9} {
				for channels := 1; channels <= 2; channels++ {
					compareTapSums(t, ofPairs(pairs), vectest.GuardedPairs, vectors, taps, channels, 0, rows,
						func(s *TapSum, p *Pixels) { s.sum(p, PairLanes, true) })
				}
			}
		}
	}
}

func TestTapSumIsPlainGos(t *testing.T) {
	for _, s := range vec.Available() {
		if s == vec.Go {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			for vectors := 1; vectors <= 8; vectors++ {
				for _, taps := range []int{1, 4, 9} {
					for channels := 1; channels <= 3; channels++ {
						for _, fold := range []int{0, 11} {
							compareTapSums(t, of(s), vectest.Guarded, vectors, taps, channels, fold, TapRows,
								func(sum *TapSum, p *Pixels) { sum.sum(p, TapLanes(s), false) })
						}
					}
				}
			}
		})
	}
}

// tapComputer computes sums with a set or with pairs.
type tapComputer struct {
	lanes   int
	compute func(sum *TapSum, p *Pixels)
	pairs   bool // can also round
}

func of(s vec.Set) tapComputer {
	return tapComputer{TapLanes(s), func(sum *TapSum, p *Pixels) { sum.Compute(s, p) }, false}
}

func ofPairs(pairs vec.Pairs) tapComputer {
	return tapComputer{PairLanes, func(sum *TapSum, p *Pixels) { sum.ComputePairs(pairs, p) }, true}
}

// compareTapSums compares sums over vectors that partly overlap, folded or not, with
// and without a bias and a ReLU. factors makes the operands that are multiplied.
func compareTapSums(t *testing.T, s tapComputer, factors func(*testing.T, *rand.Rand, int) []float32, vectors, taps, channels, fold, rows int, plain func(*TapSum, *Pixels)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(vectors), uint64(10*taps+channels)))
	lanes := s.lanes
	var from, to, offsets = make([]int, vectors), make([]int, vectors), make([]int64, taps)
	for v := range vectors {
		from[v], to[v] = v*(lanes+3), v*(lanes-1)
	}
	for i := range offsets {
		offsets[i] = int64(rng.IntN(40))
	}
	last := 39 // the last vector ends with the last channel
	if offsets[0] = int64(last); taps == 1 && channels > 1 {
		last, offsets[0] = 0, 0
	}
	xStep, wStep := vectors*(lanes+3)+29+rng.IntN(3), taps+rng.IntN(3)
	pitch, wRow := vectors*lanes+rng.IntN(5), channels*wStep+rng.IntN(4)
	sum := TapSum{
		Pitch: pitch, Rows: rows, Fold: fold, XStep: xStep, Channels: channels, Taps: offsets, WRow: wRow, WStep: wStep,
		X: factors(t, rng, (channels-1)*xStep+from[vectors-1]+last+max(lanes, lanes/2+fold)),
		W: factors(t, rng, (rows-1)*wRow+(channels-1)*wStep+taps),
	}
	pixels := NewPixels(from, to)
	for _, bias := range [][]float32{nil, vectest.Guarded(t, rng, rows)} {
		for _, relu := range []bool{false, true} {
			sum.Bias, sum.ReLU = bias, relu
			sum.Y = vectest.Guarded(t, rng, (rows-1)*pitch+to[vectors-1]+lanes)
			y := sum.Y
			want := slices.Clone(y)
			sum.Y = want
			plain(&sum, pixels)
			sum.Y = y
			s.compute(&sum, pixels)
			vectest.Same(t, "y", y, want, 2*taps*channels)
			if s.pairs {
				sameRounded(t, s, sum, pixels)
			}
		}
	}
}

// sameRounded compares results in bfloat16 with those in float32, rounded.
func sameRounded(t *testing.T, s tapComputer, sum TapSum, pixels *Pixels) {
	t.Helper()
	n := len(sum.Y)
	half, want := make([]uint16, n+1), make([]uint16, n)
	for i := range half {
		half[i] = 0xdead
	}
	sum.Half = half[:n:n]
	s.compute(&sum, pixels)
	tensor.Narrow(tensor.BFloat16, want, sum.Y)
	for row := range sum.rows() {
		pixels.each(func(_, to int) {
			for i := row*sum.Pitch + to; i < row*sum.Pitch+to+16; i++ {
				if half[i] != want[i] {
					t.Fatalf("rounded y[%d] = %#x, want %#x", i, half[i], want[i])
				}
			}
		})
	}
	if half[n] != 0xdead {
		t.Fatal("wrote beyond the end")
	}
}

func BenchmarkTapSum(b *testing.B) {
	const side, channels = 16, 128
	sets, products := map[string]tapComputer{}, map[string]float64{}
	for _, s := range vec.Available() {
		if s != vec.Go {
			sets[s.String()], products[s.String()] = of(s), 1
		}
	}
	if vec.RequirePairs() == nil {
		sets["bf16"], products["bf16"] = ofPairs(vec.BF16), 2
	}
	for name, s := range sets {
		b.Run(name, func(b *testing.B) {
			pitch := side + 2
			sum := TapSum{Pitch: side * side, XStep: pitch * pitch, Channels: channels, WRow: 9 * channels, WStep: 9,
				X: make([]float32, channels*pitch*pitch), W: make([]float32, TapRows*9*channels), Y: make([]float32, TapRows*side*side)}
			for tap := range 9 {
				sum.Taps = append(sum.Taps, int64(tap/3*pitch+tap%3))
			}
			var from, to []int
			for row := range side {
				for column := 0; column < side; column += s.lanes {
					from, to = append(from, row*pitch+column), append(to, row*side+column)
				}
			}
			pixels := NewPixels(from, to)
			for b.Loop() {
				s.compute(&sum, pixels)
			}
			b.ReportMetric(products[name]*2*9*channels*TapRows*side*side*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
