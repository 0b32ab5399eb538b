package picture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"prismtop/sim/tiff"
)

// TIFF pictures: the colours that package tiff's samples stand for.

// Values of TIFF's PhotometricInterpretation; the first four are read.
const whiteIsZero, blackIsZero, photometricRGB, photometricPalette = 0, 1, 2, 3

var otherPhotometrics = map[uint64]string{
	4: "transparency mask", 5: "CMYK", 6: "YCbCr", 8: "CIE L*a*b*", 9: "ICC L*a*b*", 10: "ITU L*a*b*",
	32803: "colour filter array", 32844: "logarithmic luminance", 32845: "logarithmic luminance and chroma",
	34892: "linear raw",
}

// openTIFF reads the first page of a TIFF file.
func openTIFF(ctx context.Context, r io.ReaderAt, size int64) (source, []string, error) {
	src, notes, err := readTIFF(ctx, r, size)
	var unread *tiff.UnreadError
	switch {
	case ctx.Err() != nil:
		return source{}, nil, ctx.Err()
	case errors.As(err, &unread):
		return source{}, nil, unsupported("TIFF", unread.Name()+" "+unread.Value)
	case err != nil && !errors.As(err, new(*unsupportedError)) && !errors.As(err, new(*sidesError)):
		return source{}, nil, damaged("TIFF", err)
	}
	return src, notes, err
}

func readTIFF(ctx context.Context, r io.ReaderAt, size int64) (source, []string, error) {
	f, err := tiff.Open(r, size)
	if err != nil {
		return source{}, nil, err
	}
	d, more, err := f.First()
	if err != nil {
		return source{}, nil, err
	}
	page, err := d.Layout()
	if err != nil {
		return source{}, nil, err
	}
	if err := checkSides(page.Width, page.Height); err != nil {
		return source{}, nil, err
	}
	c, err := colours(page)
	if err != nil {
		return source{}, nil, err
	}
	pixels := page.Width * page.Height
	if int64(pixels) > page.Room()/int64(page.Samples) {
		return source{}, nil, io.ErrUnexpectedEOF
	}
	planes := make([][]float32, page.Samples)
	for i := range planes {
		if i < c.wanted || i == c.alpha {
			planes[i] = make([]float32, pixels)
		}
	}
	if err := page.Decode(ctx, planes); err != nil {
		return source{}, nil, err
	}
	var notes []string
	if more {
		notes = append(notes, "several pages: taking the first")
	}
	turn := orientationOf(d)
	if note := turn.note(); note != "" {
		notes = append(notes, note)
	}
	return turn.upright(page.Width, page.Height, c.luma(planes, page.Width)), notes, nil
}

// tiffColours says what the samples of a TIFF's pixels mean.
type tiffColours struct {
	photometric uint64
	white       float64   // the largest sample
	wanted      int       // the first samples, which are colours
	alpha       int       // the sample of alpha by which colours are to be multiplied, -1 if there is none
	palette     []float64 // lumas
}

// colours reads the tags that say what samples mean, and refuses what is read as something else by other readers, or by
// none.
func colours(p *tiff.Page) (tiffColours, error) {
	c := tiffColours{white: float64(uint64(1)<<p.Bits - 1), wanted: 1, alpha: -1}
	photometric, err := p.Numbers(tiff.Photometric)
	if err != nil {
		return c, err
	}
	extra, err := p.Numbers(tiff.ExtraSamples)
	if err != nil {
		return c, err
	}
	if len(photometric) == 0 {
		return c, unsupported("TIFF", "no PhotometricInterpretation")
	}
	c.photometric = photometric[0]
	if c.photometric == photometricRGB {
		c.wanted = 3
	}
	if i := slices.Index(extra, 2); i >= 0 {
		c.alpha = c.wanted + i
	}
	switch {
	case p.Has(tiff.DNGVersion):
		return c, unsupported("TIFF", "a camera's raw data (DNG)")
	case p.Format != tiff.Unsigned || p.Bits > 16:
		return c, unsupported("TIFF", "samples of "+p.Kind())
	case c.photometric > photometricPalette:
		what := fmt.Sprintf("PhotometricInterpretation %d", c.photometric)
		if name := otherPhotometrics[c.photometric]; name != "" {
			what += " (" + name + ")"
		}
		return c, unsupported("TIFF", what)
	case p.Samples != c.wanted+len(extra):
		return c,
			unsupported("TIFF", fmt.Sprintf("%d samples per pixel, %d of them beyond its colours (ExtraSamples)",
				p.Samples, len(extra)))
	case c.photometric == photometricPalette && len(extra) > 0:
		return c, unsupported("TIFF", "a palette with alpha")
	case c.photometric == photometricRGB && p.Bits < 8:
		return c, unsupported("TIFF", fmt.Sprintf("colours of %d bits", p.Bits))
	case c.photometric == photometricPalette:
		return c, c.readPalette(p)
	}
	return c, nil
}

// readPalette reads a palette: all reds, then all greens, then all blues, of 16 bits. A palette of values of 8 bits, as
// some programs write it, is read as such by some readers and as very dark by others.
func (c *tiffColours) readPalette(p *tiff.Page) error {
	entries, err := p.Numbers(tiff.ColorMap)
	n := 1 << p.Bits
	switch {
	case err != nil:
		return err
	case p.Bits > 8:
		return unsupported("TIFF", fmt.Sprintf("a palette of %d colours", n))
	case len(entries) != 3*n:
		return fmt.Errorf("a palette of %d numbers, must be %d", len(entries), 3*n)
	case slices.Max(entries) > 0 && slices.Max(entries) < 256:
		return unsupported("TIFF", "a palette of 8-bit values")
	}
	for i := range n {
		c.palette = append(c.palette,
			(lumaRed*float64(entries[i])+lumaGreen*float64(entries[n+i])+lumaBlue*float64(entries[2*n+i]))/65535)
	}
	return nil
}

// luma returns the intensity of a pixel, from 0 to 1, of planes of samples.
func (c tiffColours) luma(planes [][]float32, width int) func(x, y int) float64 {
	return func(x, y int) float64 {
		i := y*width + x
		v := float64(planes[0][i])
		switch c.photometric {
		case whiteIsZero:
			v = 1 - v/c.white
		case blackIsZero:
			v /= c.white
		case photometricPalette:
			v = c.palette[int(v)]
		default:
			v = (lumaRed*v + lumaGreen*float64(planes[1][i]) + lumaBlue*float64(planes[2][i])) / c.white
		}
		if c.alpha >= 0 {
			v *= float64(planes[c.alpha][i]) / c.white
		}
		return v
	}
}
