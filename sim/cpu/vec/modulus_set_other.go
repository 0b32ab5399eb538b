//go:build !amd64 || noasm

package vec

// ModulusStrip computes amplitudes and directions of complex rows; see
// modulusStrip.
func (Set) ModulusStrip(add bool, rows int, z, amplitude []float32) {
	modulusStrip(add, rows, z, amplitude)
}
