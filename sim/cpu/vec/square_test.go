package vec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSquareSumIsPlainGos(t *testing.T) {
	for _, s := range Available() {
		for _, side := range []int{2, 3} {
			for rows := 2; rows <= 8; rows++ {
				for _, folded := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v/%d taps/%d rows/folded %v", s, side, rows, folded), func(t *testing.T) {
						for channels := 1; channels <= 3; channels++ {
							compareSquareSums(t, s, side, rows, channels, folded)
						}
					})
				}
			}
		}
	}
}

// compareSquareSums compares sums over two columns of tiles, which overlap, with and without a
// bias and a ReLU.
func compareSquareSums(t *testing.T, s Set, side, rows, channels int, folded bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(10*side+rows), uint64(channels)))
	xRow, yRow, lanes := 27+rng.IntN(3), 23+rng.IntN(3), SquareLanes
	xStep, pitch := (rows+side)*xRow+rng.IntN(4), rows*yRow+rng.IntN(4)
	q := SquareSum{Side: side, YRow: yRow, Channels: channels, XRow: xRow, XStep: xStep, Pitch: pitch}
	if folded {
		q.Fold, q.YFold, lanes = xStep*channels+5, pitch*SquareRows+3, SquareLanes/2
	}
	from, to := []int{1, 8}, []int{0, 7}
	q.X = guarded(t, rng, q.Fold+8+(channels-1)*xStep+(rows+side-2)*xRow+side-1+lanes)
	q.W = guarded(t, rng, channels*side*side*SquareRows)
	tiles := NewSquareTiles(from, to, rows, xRow, yRow)
	for _, bias := range [][]float32{nil, guarded(t, rng, SquareRows)} {
		for _, relu := range []bool{false, true} {
			q.Bias, q.ReLU = bias, relu
			q.Y = guarded(t, rng, q.YFold+7+(SquareRows-1)*pitch+(rows-1)*yRow+lanes)
			y := q.Y
			want := slices.Clone(y)
			for o := range SquareRows {
				for part := range 2 {
					for i := range rows {
						for _, first := range to {
							for j := range lanes {
								if part == 1 && !folded {
									continue
								}
								at := o*pitch + part*q.YFold + first + i*yRow + j
								want[at] = squareAt(&q, o, 1+part*q.Fold+first+i*xRow+j)
							}
						}
					}
				}
			}
			s.SquareSum(&q, tiles)
			same(t, "y", y, want, side*side*channels)
		}
	}
}

// squareAt is the sum for output channel o at a position in x.
func squareAt(q *SquareSum, o, at int) float32 {
	v := 0.0
	if q.Bias != nil {
		v = float64(q.Bias[o])
	}
	for c := range q.Channels {
		for ky := range q.Side {
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
			tiles := NewSquareTiles(from, to, rows, pitch, side)
			set := Available()[0]
			for b.Loop() {
				set.SquareSum(&q, tiles)
			}
			b.ReportMetric(2*9*float64(channels*SquareRows*side*rows)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
