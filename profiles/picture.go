package profiles

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
)

// Pictures, their span, and their form in files.

// Picture is a grey image for the screen, immutable once published. Pixels are stored
// row by row and are amplitudes.
type Picture struct {
	ID            int // index in the schema
	Iteration     int64
	Width, Height int
	Pixels        []float32
	SHA256        string // of the exact pixels, of a picture from a recording, which are rounded; empty elsewhere
}

// Whole reports whether there is a picture with all of its pixels.
func (p *Picture) Whole() bool {
	return p != nil && p.Width > 0 && p.Height > 0 && len(p.Pixels) == p.Width*p.Height
}

// Span returns the least and the greatest finite value of a picture, the least at most 0; 0 and 1 if there are none.
func (p *Picture) Span() [2]float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range p.Pixels {
		if x := float64(x); !math.IsNaN(x) && !math.IsInf(x, 0) {
			low, high = min(low, x), max(high, x)
		}
	}
	if low > high {
		return [2]float64{0, 1}
	}
	return [2]float64{min(low, 0), high}
}

// PNG returns a Whole picture as a file of 8-bit greys, black at the first value of the span and white at the second.
func (p *Picture) PNG(span [2]float64) []byte {
	grey := image.NewGray(image.Rect(0, 0, p.Width, p.Height))
	for i, x := range p.Pixels {
		share := 0.0
		if span[1] > span[0] {
			share = (float64(x) - span[0]) / (span[1] - span[0])
		}
		if math.IsNaN(share) {
			share = 0
		}
		grey.SetGray(i%p.Width, i/p.Width, color.Gray{Y: uint8(math.Round(255 * min(max(share, 0), 1)))})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, grey); err != nil {
		panic(err) // a Buffer takes everything, and the picture is whole
	}
	return b.Bytes()
}
