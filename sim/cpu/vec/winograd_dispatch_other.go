//go:build !amd64 || noasm

package vec

// WinogradInput transforms a tile's input; see winogradInput.
func (Set) WinogradInput(v []float32, step int, x []float32, row, pixel, n int) {
	winogradInput(v, step, x, row, pixel, n)
}

// WinogradOutput transforms a tile's products; see winogradOutput.
func (Set) WinogradOutput(y []float32, row, pixel int, m []float32, step int, bias []float32, relu bool, n int) {
	winogradOutput(y, row, pixel, m, step, bias, relu, n)
}
