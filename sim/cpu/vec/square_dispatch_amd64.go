//go:build !noasm

package vec

// squareKernels are the kernels by side, height and whether tiles are folded.
var squareKernels = [4][4][2]func(y *float32, pitch, yRow int, x *float32, at *int64, tiles, channels, xStep, xRow int,
	w, bias *float32, relu, fold, yFold int){
	2: {2: {square2x2AVX512, foldedSquare2x2AVX512}, 3: {square2x3AVX512, foldedSquare2x3AVX512}},
	3: {2: {square3x2AVX512, foldedSquare3x2AVX512}, 3: {square3x3AVX512, foldedSquare3x3AVX512}},
}

// SquareSum computes a SquareSum for tiles.
func (s Set) SquareSum(q *SquareSum, t *SquareTiles) {
	if s != AVX512 || len(t.at) == 0 || q.Channels <= 0 {
		q.sum(t)
		return
	}
	q.check(t)
	var bias *float32
	if q.Bias != nil {
		bias = &q.Bias[:SquareRows][0]
	}
	relu, folded := 0, 0
	if q.ReLU {
		relu = 1
	}
	if q.Fold != 0 {
		folded = 1
	}
	at := t.at
	for height := 3; height > 1; height-- {
		n := t.high
		if height == 2 {
			n = len(t.xs) - t.high
		}
		if n == 0 {
			continue
		}
		squareKernels[q.Side][height][folded](&q.Y[0], 4*q.Pitch, 4*q.YRow, &q.X[0], &at[0], n, q.Channels, 4*q.XStep, 4*q.XRow,
			&q.W[0], bias, relu, 4*q.Fold, 4*q.YFold)
		at = at[2*n:]
	}
}
