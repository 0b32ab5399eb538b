package trial

import (
	"bytes"
	"context"
	"math"
	"math/cmplx"

	"prismtop/sim/learning"
	"prismtop/sim/npy"
	"prismtop/sim/picture"
	"prismtop/sim/ptycho"
)

// Suffixes are the ends of the names of the files with a reconstruction: the complex
// object, its amplitude and its phase.
var Suffixes = []string{".npy", ".png", "-phase.png"}

// keep writes a reconstruction to files with the Suffixes after base.
func keep(ctx context.Context, base string, c *ptycho.Canvas) error {
	amplitude, phase := make([]float32, len(c.Object)), make([]float32, len(c.Object))
	for i, z := range c.Object {
		if z != 0 {
			amplitude[i], phase[i] = float32(cmplx.Abs(complex128(z))), float32(math.Pi+cmplx.Phase(complex128(z)))
		}
	}
	var object bytes.Buffer
	if err := npy.Write(&object, []int{c.Side, c.Side}, c.Object); err != nil {
		return err
	}
	data := [][]byte{object.Bytes()}
	for _, pixels := range [][]float32{amplitude, phase} {
		encoded, err := picture.EncodePNG16(ctx, pixels, c.Side, c.Side)
		if err != nil {
			return err
		}
		data = append(data, encoded)
	}
	_, err := learning.WriteNamed(base, false, Suffixes, data)
	return err
}
