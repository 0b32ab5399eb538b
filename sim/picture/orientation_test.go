package picture

import (
	"bytes"
	"encoding/binary"
	"io"
	"path"
	"slices"
	"testing"

	"prismtop/sim/tiff"
)

// exifData are Exif data of one tag, the orientation.
func exifData(order binary.AppendByteOrder, orientation uint16) []byte {
	data := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		data = []byte("MM\x00*")
	}
	data = order.AppendUint32(data, 8)
	data = order.AppendUint16(data, 1)
	data = order.AppendUint16(data, tiff.Orientation)
	data = order.AppendUint16(data, 3) // SHORT
	data = order.AppendUint32(data, 1)
	data = order.AppendUint16(data, orientation)
	return append(data, 0, 0, 0, 0, 0, 0)
}

func TestEveryOrientationIsTurnedUpright(t *testing.T) {
	// What is stored so that it is 1 2 3 over 4 5 6 once turned.
	stored := map[orientation][]string{
		1: {"123", "456"}, 2: {"321", "654"}, 3: {"654", "321"}, 4: {"456", "123"},
		5: {"14", "25", "36"}, 6: {"36", "25", "14"}, 7: {"63", "52", "41"}, 8: {"41", "52", "63"},
	}
	for o, rows := range stored {
		src := o.upright(len(rows[0]), len(rows), func(x, y int) float64 { return float64(rows[y][x] - '0') })
		if src.w != 3 || src.h != 2 {
			t.Errorf("orientation %d: %d x %d", o, src.w, src.h)
			continue
		}
		got := make([]float64, 6)
		for y := range 2 {
			if err := src.row(y, got[3*y:][:3]); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, []float64{1, 2, 3, 4, 5, 6}) {
			t.Errorf("orientation %d: %v", o, got)
		}
	}
}

func TestOrientationsOutOfRangeAreUpright(t *testing.T) {
	for _, data := range [][]byte{
		nil, []byte("II*\x00"), exifData(binary.LittleEndian, 0), exifData(binary.BigEndian, 9),
		exifData(binary.LittleEndian, 6)[:20],                          // the entry is cut
		append([]byte("II*\x00\xff\xff\xff\xff"), make([]byte, 99)...), // beyond the end
	} {
		if o := exifOrientation(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))); o != 1 {
			t.Errorf("orientation %d of %q", o, data)
		}
	}
}

// What a file says beyond its pixels stands in the notes, which open a run's log.
func TestWhatIsDoneToAPictureIsNoted(t *testing.T) {
	want := map[string]string{
		"jpeg/exif-1.jpg":            "",
		"jpeg/exif-6.jpg":            "the file states orientation 6: turned clockwise by 90°",
		"jpeg/exif-6-after-xmp.jpg":  "the file states orientation 6: turned clockwise by 90°",
		"png/exif-2.png":             "the file states orientation 2: mirrored left to right",
		"png/exif-6-last.png":        "the file states orientation 6: turned clockwise by 90°",
		"webp/exif-3.webp":           "the file states orientation 3: turned by 180°",
		"webp/exif-6-prefixed.webp":  "the file states orientation 6: turned clockwise by 90°",
		"tiff/orientation-8.tif":     "the file states orientation 8: turned anticlockwise by 90°",
		"tiff/orientation-9.tif":     "",
		"tiff/two-pages.tif":         "several pages: taking the first",
		"gif/animated.gif":           "several frames: taking the first",
		"gif/animated-magick.gif":    "several frames: taking the first",
		"gif/offset-transparent.gif": "",
		"png/animated.png":           "several frames: taking the still picture",
	}
	for _, v := range variants(t) {
		note, ok := want[v.name]
		if !ok {
			continue
		}
		obj, err := Load(t.Context(), written(t, path.Base(v.name), v.data), Options{Size: 32, ObjectSize: 16})
		if err != nil {
			t.Error(err)
			continue
		}
		if noted := slices.Contains(obj.Notes, note); noted != (note != "") || len(obj.Notes) > 2 {
			t.Errorf("%s: notes %q, want %q", v.name, obj.Notes, note)
		}
	}
}
