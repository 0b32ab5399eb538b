package picture

import (
	"image"
	"io"
)

// inspectBMP finds pixels of 32 bits without colour masks. Their fourth byte is unused, but golang.org/x/image/bmp
// takes it as alpha behind the longer headers.
func inspectBMP(r *io.SectionReader) (inspection, error) {
	in := inspection{orientation: 1}
	var head [34]byte
	if n, _ := r.ReadAt(head[:], 0); n == len(head) && head[28] == 32 && head[30] == 0 {
		in.correct = opaque
	}
	return in, nil
}

// opaque removes alpha.
func opaque(img image.Image) image.Image {
	if m, ok := img.(*image.NRGBA); ok {
		for i := 3; i < len(m.Pix); i += 4 {
			m.Pix[i] = 255
		}
	}
	return img
}
