//go:build !amd64 || noasm

package winograd

import "prismtop/sim/cpu/vec"

// Input transforms a tile's input; see transformInput.
func Input(_ vec.Set, v []float32, step int, x []float32, row, pixel, n int) {
	transformInput(v, step, x, row, pixel, n)
}

// Output transforms a tile's products; see transformOutput.
func Output(_ vec.Set, y []float32, row, pixel int, m []float32, step int, bias []float32, relu bool, n int) {
	transformOutput(y, row, pixel, m, step, bias, relu, n)
}

// Transform transforms n tiles of sixteen channels; see transformStage.
func Transform(_ vec.Set, stage Stage, side int, y []float32, yRow, yPixel, yStep int, x []float32, xRow, xPixel, xStep,
	n int, _ []float32) {
	transformStage(stage, side, y, yRow, yPixel, yStep, x, xRow, xPixel, xStep, n)
}

// PairTilesIn transforms the inputs of tiles; see pairTilesIn.
func PairTilesIn(_ vec.Pairs, v []float32, first, second []uint16, planes int, p *PairTiles, n int) {
	pairTilesIn(v, first, second, planes, p, n)
}

// PairTilesMultiply multiplies transformed inputs and weights; see pairTilesMultiply.
func PairTilesMultiply(_ vec.Pairs, m, v, u []float32, n, vectors int) {
	pairTilesMultiply(m, v, u, n, vectors)
}

// PairTilesOut transforms products back and stores them; see pairTilesOut.
func PairTilesOut(_ vec.Pairs, y []uint16, plane int, m []float32, p *PairTiles, bias []float32, relu, pooled bool) {
	pairTilesOut(y, plane, m, p, bias, relu, pooled)
}
