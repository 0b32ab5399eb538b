package picture

import (
	"fmt"
	"io"

	"prismtop/sim/tiff"
)

// orientation is how a stored picture must be turned to be upright: the value of
// TIFF's and Exif's tag 274, from 1 (upright) to 8.
type orientation int

// exifPrefix precedes Exif data in JPEG, and by mistake in some WebP.
const exifPrefix = "Exif\x00\x00"

// orientationOf returns a directory's orientation; 1 if it is missing, damaged or out of range.
func orientationOf(d *tiff.Directory) orientation {
	if o, err := d.Number(tiff.Orientation, 1); err == nil && o >= 1 && o <= 8 {
		return orientation(o)
	}
	return 1
}

// exifOrientation reads Exif data, which are a TIFF file (Exif 2.32, 4.5), with or without their prefix.
func exifOrientation(r *io.SectionReader) orientation {
	head := make([]byte, len(exifPrefix))
	if n, _ := r.ReadAt(head, 0); n == len(head) && string(head) == exifPrefix {
		r = io.NewSectionReader(r, int64(n), r.Size()-int64(n))
	}
	f, err := tiff.Open(r, r.Size())
	if err != nil {
		return 1
	}
	d, _, err := f.First()
	if err != nil {
		return 1
	}
	return orientationOf(d)
}

// note describes the turn, for the log; empty for upright pictures.
func (o orientation) note() string {
	does := map[orientation]string{
		2: "mirrored left to right",
		3: "turned by 180°",
		4: "mirrored top to bottom",
		5: "turned clockwise by 90° and mirrored left to right",
		6: "turned clockwise by 90°",
		7: "turned clockwise by 90° and mirrored top to bottom",
		8: "turned anticlockwise by 90°",
	}[o]
	if does == "" {
		return ""
	}
	return fmt.Sprintf("the file states orientation %d: %s", int(o), does)
}

// upright returns the upright source of a stored picture of w×h levels.
func (o orientation) upright(w, h int, level func(x, y int) float64) source {
	at := func(x, y int) (int, int) { return x, y }
	switch o {
	case 2:
		at = func(x, y int) (int, int) { return w - 1 - x, y }
	case 3:
		at = func(x, y int) (int, int) { return w - 1 - x, h - 1 - y }
	case 4:
		at = func(x, y int) (int, int) { return x, h - 1 - y }
	case 5:
		at = func(x, y int) (int, int) { return y, x }
	case 6:
		at = func(x, y int) (int, int) { return y, h - 1 - x }
	case 7:
		at = func(x, y int) (int, int) { return w - 1 - y, h - 1 - x }
	case 8:
		at = func(x, y int) (int, int) { return w - 1 - y, x }
	}
	src := source{w: w, h: h, white: 1, row: func(y int, to []float64) error {
		for x := range to {
			to[x] = level(at(x, y))
		}
		return nil
	}}
	if o >= 5 {
		src.w, src.h = h, w
	}
	return src
}
