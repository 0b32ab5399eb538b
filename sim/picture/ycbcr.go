package picture

import (
	"image"
	"image/color"
)

// ycbcr is a decoded picture of luma and chroma, with origin 0, 0, converted as by
// libjpeg and libwebp, which PRISM uses: chroma of half the resolution is
// interpolated. image.YCbCr repeats it, which shows in strong colours, where red,
// green and blue are clipped.
type ycbcr struct {
	*image.YCbCr
	alpha *image.NYCbCrA // nil for opaque pictures
	// studio means luma from 16 to 235 and chroma from 16 to 240, as in ITU-R
	// BT.601; otherwise both range from 0 to 255, as in JFIF.
	studio        bool
	across, down  int  // pixels per chroma sample
	columns, rows int  // chroma samples
	interpolate   bool // if across or down is 2
}

func newYCbCr(m *image.YCbCr, alpha *image.NYCbCrA, studio bool) *ycbcr {
	p := &ycbcr{YCbCr: m, alpha: alpha, studio: studio, across: 1, down: 1}
	switch m.SubsampleRatio {
	case image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420:
		p.across = 2
	case image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410:
		p.across = 4
	}
	switch m.SubsampleRatio {
	case image.YCbCrSubsampleRatio420, image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio410:
		p.down = 2
	}
	p.columns = (m.Rect.Dx() + p.across - 1) / p.across
	p.rows = (m.Rect.Dy() + p.down - 1) / p.down
	p.interpolate = p.across == 2 || p.across == 1 && p.down == 2
	return p
}

// At calls RGBA64At.
func (p *ycbcr) At(x, y int) color.Color { return p.RGBA64At(x, y) }

// RGBA64At converts a pixel, with premultiplied alpha as the type requires.
func (p *ycbcr) RGBA64At(x, y int) color.RGBA64 {
	luma := float64(p.Y[y*p.YStride+x])
	blue, red := p.chroma(x, y)
	if p.studio {
		luma, blue, red = (luma-16)*(1/219.0), blue*(1/224.0), red*(1/224.0)
	} else {
		luma, blue, red = luma*(1/255.0), blue*(1/255.0), red*(1/255.0)
	}
	alpha := 65535.0
	if p.alpha != nil {
		alpha = 257 * float64(p.alpha.A[y*p.alpha.AStride+x])
	}
	// The weights of red, green and blue in luma are 0.299, 0.587 and 0.114.
	return color.RGBA64{
		R: scaled(luma+1.402*red, alpha),
		G: scaled(luma-(0.114*1.772/0.587)*blue-(0.299*1.402/0.587)*red, alpha),
		B: scaled(luma+1.772*blue, alpha),
		A: uint16(alpha),
	}
}

// scaled returns v, clamped to [0, 1], times alpha.
func scaled(v, alpha float64) uint16 {
	if v <= 0 {
		return 0
	}
	if v >= 1 {
		return uint16(alpha)
	}
	return uint16(alpha*v + 0.5)
}

// chroma returns the blue and red difference of a pixel, around 0.
func (p *ycbcr) chroma(x, y int) (blue, red float64) {
	column, row := x/p.across, y/p.down
	if !p.interpolate {
		i := row*p.CStride + column
		return float64(p.Cb[i]) - 128, float64(p.Cr[i]) - 128
	}
	near, far := row*p.CStride, neighbour(y, p.down, p.rows)*p.CStride
	next := neighbour(x, p.across, p.columns)
	mean := func(plane []uint8) float64 {
		sum := 9*int(plane[near+column]) + 3*int(plane[near+next]) + 3*int(plane[far+column]) + int(plane[far+next])
		return float64(sum)/16 - 128
	}
	return mean(p.Cb), mean(p.Cr)
}

// neighbour returns the second nearest of a number of samples to a pixel: the
// nearest one again at the edge, or if each pixel has its own sample.
func neighbour(pixel, step, samples int) int {
	nearest := pixel / step
	if step == 1 {
		return nearest
	}
	return min(samples-1, max(0, nearest-1+2*(pixel%step)))
}
