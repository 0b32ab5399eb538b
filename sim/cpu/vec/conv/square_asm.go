package conv

import "prismtop/sim/cpu/vec"

// squareKernels are the kernels by side, height, whether tiles are folded, and edge.
var squareKernels = [4][4][2][3]func(y *float32, pitch, yRow int, x *float32, at *int64, tiles, channels,
	xStep, xRow int,
	w, bias *float32, relu, fold, yFold int){
	2: {2: {{square2x2AVX512}, {foldedSquare2x2AVX512}}, 3: {{square2x3AVX512}, {foldedSquare2x3AVX512}}},
	3: {
		2: {{square3x2AVX512, square3x2TopAVX512, square3x2BottomAVX512},
			{foldedSquare3x2AVX512, foldedSquare3x2TopAVX512, foldedSquare3x2BottomAVX512}},
		3: {{square3x3AVX512, square3x3TopAVX512, square3x3BottomAVX512},
			{foldedSquare3x3AVX512, foldedSquare3x3TopAVX512, foldedSquare3x3BottomAVX512}},
	},
}

// Compute computes the sum for tiles.
func (q *SquareSum) Compute(s vec.Set, t *SquareTiles) {
	if s != vec.AVX512 || len(t.at) == 0 || q.Channels <= 0 {
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
	for _, run := range t.runs {
		squareKernels[q.Side][run.height][folded][run.edge](&q.Y[0], 4*q.Pitch, 4*q.YRow, &q.X[0], &at[0], run.tiles,
			q.Channels, 4*q.XStep, 4*q.XRow, &q.W[0], bias, relu, 4*q.Fold, 4*q.YFold)
		at = at[2*run.tiles:]
	}
}
