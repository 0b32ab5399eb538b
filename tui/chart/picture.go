package chart

import "math"

// Image is a picture with one value per pixel, row by row. Values from Black to White map to the
// lowest to highest level; non-finite values are 0.
type Image struct {
	Width, Height int
	Pixels        []float32
	Black, White  float32
	Peak          bool // a smaller drawing shows the value of largest magnitude, not the mean: errors do not cancel
}

// Valid reports whether the number of pixels matches the size and is not 0.
func (p Image) Valid() bool {
	return p.Width > 0 && p.Height > 0 && len(p.Pixels) == p.Width*p.Height
}

// Fit returns the size in square pixels at which a w:h picture fills a box of columns by rows of
// half-cell pixels while keeping its aspect ratio.
func Fit(w, h, columns, rows int) (pw, ph int) {
	if w <= 0 || h <= 0 || columns <= 0 || rows <= 0 {
		return 0, 0
	}
	if w*rows <= h*columns {
		return max(1, w*rows/h), rows
	}
	return columns, max(1, h*columns/w)
}

// Crop returns the w by h pixels from (x,y) on, which must lie inside the picture.
func (p Image) Crop(x, y, w, h int) Image {
	if !p.Valid() || w == p.Width && h == p.Height {
		return p
	}
	pixels := make([]float32, 0, w*h)
	for row := y; row < y+h; row++ {
		pixels = append(pixels, p.Pixels[row*p.Width+x:row*p.Width+x+w]...)
	}
	p.Width, p.Height, p.Pixels = w, h, pixels
	return p
}

// sample returns the mean, or the peak, of the part of the picture covered by pixel (x,y) of a w by h
// raster, as a fraction of the scale from 0 to 1.
func (p Image) sample(x, y, w, h int) float64 {
	x0, x1 := x*p.Width/w, max((x+1)*p.Width/w, x*p.Width/w+1)
	y0, y1 := y*p.Height/h, max((y+1)*p.Height/h, y*p.Height/h+1)
	sum, peak, n := 0.0, 0.0, 0
	for j := y0; j < min(y1, p.Height); j++ {
		for _, pixel := range p.Pixels[j*p.Width+x0 : j*p.Width+min(x1, p.Width)] {
			v := finite(float64(pixel), 0)
			sum += v
			if math.Abs(v) > math.Abs(peak) {
				peak = v
			}
			n++
		}
	}
	if n == 0 || !(p.White > p.Black) {
		return 0
	}
	v := sum / float64(n)
	if p.Peak {
		v = peak
	}
	return min(max((v-float64(p.Black))/float64(p.White-p.Black), 0), 1)
}
