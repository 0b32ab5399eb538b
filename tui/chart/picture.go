package chart

// Image is a picture of one value a pixel, row by row. Values from Black to
// White are drawn from the lowest to the highest level; what is not finite is 0.
type Image struct {
	Width, Height int
	Pixels        []float32
	Black, White  float32
}

// Valid says whether the picture has as many pixels as it says, at least one.
func (p Image) Valid() bool {
	return p.Width > 0 && p.Height > 0 && len(p.Pixels) == p.Width*p.Height
}

// Fit is the size in square pixels at which a w:h picture fills a box of so
// many columns and rows of half-cell pixels without changing its shape.
func Fit(w, h, columns, rows int) (pw, ph int) {
	if w <= 0 || h <= 0 || columns <= 0 || rows <= 0 {
		return 0, 0
	}
	if w*rows <= h*columns {
		return max(1, w*rows/h), rows
	}
	return columns, max(1, h*columns/w)
}

// sample is the mean, as a share of the scale from 0 to 1, of the part of the picture that pixel (x,y)
// of a w by h raster covers.
func (p Image) sample(x, y, w, h int) float64 {
	x0, x1 := x*p.Width/w, max((x+1)*p.Width/w, x*p.Width/w+1)
	y0, y1 := y*p.Height/h, max((y+1)*p.Height/h, y*p.Height/h+1)
	sum, n := 0.0, 0
	for j := y0; j < min(y1, p.Height); j++ {
		for _, v := range p.Pixels[j*p.Width+x0 : j*p.Width+min(x1, p.Width)] {
			sum += finite(float64(v), 0)
			n++
		}
	}
	if n == 0 || !(p.White > p.Black) {
		return 0
	}
	return min(max((sum/float64(n)-float64(p.Black))/float64(p.White-p.Black), 0), 1)
}
