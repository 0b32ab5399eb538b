package winograd

import "prismtop/sim/cpu/vec"

// stageKernel transforms n tiles of one vector.
type stageKernel = func(y *float32, yRow, yPixel, yStep int, x *float32, xRow, xPixel, xStep, n int, scratch *float32)

// stageKernels are the kernels of AVX2 and AVX-512 for tiles of 2×2 and 4×4 outputs.
var stageKernels = [2][2][stages]stageKernel{
	{
		{winogradTile2AVX2, winogradProducts2AVX2, winogradKernel2AVX2, winogradUpstream2AVX2, winogradGradient2AVX2},
		{winogradTile4AVX2, winogradProducts4AVX2, winogradKernel4AVX2, winogradUpstream4AVX2, winogradGradient4AVX2},
	}, {
		{winogradTile2AVX512, winogradProducts2AVX512, winogradKernel2AVX512, winogradUpstream2AVX512,
			winogradGradient2AVX512},
		{winogradTile4AVX512, winogradProducts4AVX512, winogradKernel4AVX512, winogradUpstream4AVX512,
			winogradGradient4AVX512},
	},
}

// stageSides are the sides of the inputs and results of the stages for tiles of 2×2 and
// 4×4 outputs.
var stageSides = [2][stages][2]int{
	{{4, 4}, {4, 2}, {3, 4}, {2, 4}, {4, 3}},
	{{6, 6}, {6, 4}, {3, 6}, {4, 6}, {6, 3}},
}

// Transform transforms n tiles of sixteen channels; see transformStage. side is 2 or 4,
// scratch has WinogradScratch floats.
func Transform(s vec.Set, stage Stage, side int, y []float32, yRow, yPixel, yStep int, x []float32, xRow, xPixel, xStep,
	n int, scratch []float32) {
	if s == vec.Go || n <= 0 {
		transformStage(stage, side, y, yRow, yPixel, yStep, x, xRow, xPixel, xStep, n)
		return
	}
	sides := &stageSides[side/4][stage]
	in, out := sides[0]-1, sides[1]-1
	_, _ = x[in*(xRow+xPixel)+(n-1)*xStep+Lanes-1], y[out*(yRow+yPixel)+(n-1)*yStep+Lanes-1]
	_ = scratch[Scratch-1]
	if s == vec.AVX512 {
		stageKernels[1][side/4][stage](&y[0], yRow, yPixel, yStep, &x[0], xRow, xPixel, xStep, n, &scratch[0])
		return
	}
	transform := stageKernels[0][side/4][stage]
	transform(&y[0], yRow, yPixel, yStep, &x[0], xRow, xPixel, xStep, n, &scratch[0])
	transform(&y[Lanes/2], yRow, yPixel, yStep, &x[Lanes/2], xRow, xPixel, xStep, n, &scratch[0])
}
