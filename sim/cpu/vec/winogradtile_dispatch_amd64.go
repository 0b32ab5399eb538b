//go:build !noasm

package vec

// winogradFunction transforms n tiles of one vector.
type winogradFunction = func(y *float32, yRow, yPixel, yStep int, x *float32, xRow, xPixel, xStep, n int, scratch *float32)

// winogradFunctions are the kernels of AVX2 and AVX-512 for tiles of 2×2 and 4×4 outputs.
var winogradFunctions = [2][2][winogradStages]winogradFunction{
	{
		{winogradTile2AVX2, winogradProducts2AVX2, winogradKernel2AVX2, winogradUpstream2AVX2, winogradGradient2AVX2},
		{winogradTile4AVX2, winogradProducts4AVX2, winogradKernel4AVX2, winogradUpstream4AVX2, winogradGradient4AVX2},
	}, {
		{winogradTile2AVX512, winogradProducts2AVX512, winogradKernel2AVX512, winogradUpstream2AVX512, winogradGradient2AVX512},
		{winogradTile4AVX512, winogradProducts4AVX512, winogradKernel4AVX512, winogradUpstream4AVX512, winogradGradient4AVX512},
	},
}

// winogradSides are the sides of the inputs and results of the stages for tiles of 2×2 and
// 4×4 outputs.
var winogradSides = [2][winogradStages][2]int{
	{{4, 4}, {4, 2}, {3, 4}, {2, 4}, {4, 3}},
	{{6, 6}, {6, 4}, {3, 6}, {4, 6}, {6, 3}},
}

// Winograd transforms n tiles of sixteen channels; see winogradTransform. side is 2 or 4,
// scratch has WinogradScratch floats.
func (s Set) Winograd(stage WinogradStage, side int, y []float32, yRow, yPixel, yStep int, x []float32, xRow, xPixel, xStep, n int, scratch []float32) {
	if s == Go || n <= 0 {
		winogradTransform(stage, side, y, yRow, yPixel, yStep, x, xRow, xPixel, xStep, n)
		return
	}
	sides := &winogradSides[side/4][stage]
	in, out := sides[0]-1, sides[1]-1
	_, _ = x[in*(xRow+xPixel)+(n-1)*xStep+PatchFloats-1], y[out*(yRow+yPixel)+(n-1)*yStep+PatchFloats-1]
	_ = scratch[WinogradScratch-1]
	if s == AVX512 {
		winogradFunctions[1][side/4][stage](&y[0], yRow, yPixel, yStep, &x[0], xRow, xPixel, xStep, n, &scratch[0])
		return
	}
	transform := winogradFunctions[0][side/4][stage]
	transform(&y[0], yRow, yPixel, yStep, &x[0], xRow, xPixel, xStep, n, &scratch[0])
	transform(&y[PatchFloats/2], yRow, yPixel, yStep, &x[PatchFloats/2], xRow, xPixel, xStep, n, &scratch[0])
}
