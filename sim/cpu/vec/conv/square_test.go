package conv

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

func TestSquareSumIsPlainGos(t *testing.T) {
	for _, s := range vec.Available() {
		for _, side := range []int{2, 3} {
			for rows := 2; rows <= 8; rows++ {
				for _, folded := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v/%d taps/%d rows/folded %v", s, side, rows, folded), func(t *testing.T) {
						for channels := 1; channels <= 3; channels++ {
							a := SquareArea{From: []int{1, 8}, To: []int{0, 7}, Rows: rows, XRow: 28, YRow: 25}
							compareSquareSums(t, s, side, channels, folded, a)
							if side == 3 {
								a.Top = true
								compareSquareSums(t, s, side, channels, folded, a)
								a.Bottom = rows > 3
								compareSquareSums(t, s, side, channels, folded, a)
								a.Top, a.Bottom = false, true
								compareSquareSums(t, s, side, channels, folded, a)
							}
						}
					})
				}
			}
		}
	}
}

// compareSquareSums compares sums over two columns of tiles, which overlap, with and without a
// bias and a ReLU.
func compareSquareSums(t *testing.T, s vec.Set, side, channels int, folded bool, a SquareArea) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(10*side+a.Rows), uint64(channels)))
	rows, lanes := a.Rows, SquareLanes
	xStep, pitch := (rows+side)*a.XRow+rng.IntN(4), rows*a.YRow+rng.IntN(4)
	q := SquareSum{Side: side, YRow: a.YRow, Channels: channels, XRow: a.XRow, XStep: xStep, Pitch: pitch}
	if folded {
		q.Fold, q.YFold, lanes = xStep*channels+5, pitch*SquareRows+3, SquareLanes/2
	}
	q.X = vectest.Guarded(t, rng, q.Fold+8+(channels-1)*xStep+(rows+side-2)*a.XRow+side-1+lanes)
	q.W = vectest.Guarded(t, rng, channels*side*side*SquareRows)
	tiles := NewSquareTiles(a)
	for _, bias := range [][]float32{nil, vectest.Guarded(t, rng, SquareRows)} {
		for _, relu := range []bool{false, true} {
			q.Bias, q.ReLU = bias, relu
			q.Y = vectest.Guarded(t, rng, q.YFold+7+(SquareRows-1)*pitch+(rows-1)*a.YRow+lanes)
			y := q.Y
			want := slices.Clone(y)
			for at := range SquareRows * rows * len(a.To) * lanes {
				o, i, column := at/(rows*len(a.To)*lanes), at/(len(a.To)*lanes)%rows, a.To[at/lanes%len(a.To)]+at%lanes
				to, from := o*pitch+i*a.YRow+column, 1+i*a.XRow+column
				want[to] = squareAt(&q, &a, o, i, from)
				if folded {
					want[q.YFold+to] = squareAt(&q, &a, o, i, q.Fold+from)
				}
			}
			q.Compute(s, tiles)
			vectest.Same(t, "y", y, want, side*side*channels)
		}
	}
}

// squareAt is the sum for output channel o at a position in x, in row i.
func squareAt(q *SquareSum, a *SquareArea, o, i, at int) float32 {
	v := 0.0
	if q.Bias != nil {
		v = float64(q.Bias[o])
	}
	for c := range q.Channels {
		for ky := range q.Side {
			if a.Top && i+ky == 0 || a.Bottom && i+ky == a.Rows+1 {
				continue
			}
			for kx := range q.Side {
				v += float64(q.X[at+c*q.XStep+ky*q.XRow+kx]) * float64(q.W[((c*q.Side+ky)*q.Side+kx)*SquareRows+o])
			}
		}
	}
	if q.ReLU {
		v = max(v, 0)
	}
	return float32(v)
}

func BenchmarkSquareSum(b *testing.B) {
	for _, shape := range []struct{ side, channels int }{{16, 64}, {16, 128}, {16, 256}, {32, 128}, {64, 64}} {
		b.Run(fmt.Sprintf("%dx%[1]dx%d", shape.side, shape.channels), func(b *testing.B) {
			side, rows, channels := shape.side, 16, shape.channels
			pitch := side + 2
			q := SquareSum{Side: 3, Pitch: side * rows, YRow: side, XStep: pitch * (rows + 2), XRow: pitch, Channels: channels,
				X: make([]float32, channels*pitch*(rows+2)), W: make([]float32, SquareRows*9*channels), Y: make([]float32, SquareRows*side*rows)}
			var from, to []int
			for column := 0; column < side; column += SquareLanes {
				from, to = append(from, column), append(to, column)
			}
			tiles := NewSquareTiles(SquareArea{From: from, To: to, Rows: rows, XRow: pitch, YRow: side})
			set := vec.Available()[0]
			for b.Loop() {
				q.Compute(set, tiles)
			}
			b.ReportMetric(2*9*float64(channels*SquareRows*side*rows)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
