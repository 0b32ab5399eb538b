//go:build !amd64 || noasm

package vec

// Winograd transforms n tiles of sixteen channels; see winogradTransform.
func (Set) Winograd(stage WinogradStage, side int, y []float32, yRow, yPixel, yStep int, x []float32, xRow, xPixel, xStep, n int, _ []float32) {
	winogradTransform(stage, side, y, yRow, yPixel, yStep, x, xRow, xPixel, xStep, n)
}
