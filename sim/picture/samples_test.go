package picture

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// A wedge is a grey ramp from left to right, level x·step in column x.
func wedge(w, h int, step uint8) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.SetGray(x, y, color.Gray{Y: uint8(x) * step})
		}
	}
	return img
}

// checkers is a checkerboard of two greys.
func checkers(side int, dark, bright uint8) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			level := dark
			if (x+y)%2 == 1 {
				level = bright
			}
			img.SetGray(x, y, color.Gray{Y: level})
		}
	}
	return img
}

// encoded is img in the format of the file name's ending.
func encoded(t testing.TB, ending string, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	var err error
	switch ending {
	case "png":
		err = png.Encode(&out, img)
	case "jpg":
		err = jpeg.Encode(&out, img, &jpeg.Options{Quality: 100})
	case "gif":
		err = gif.Encode(&out, img, nil)
	case "tif":
		err = tiff.Encode(&out, img, &tiff.Options{Compression: tiff.Deflate})
	case "bmp":
		err = bmp.Encode(&out, img)
	default:
		t.Fatalf("no encoder for %s", ending)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// webpCheckers is a lossless WebP checkerboard of two greens (RFC 9649 §3): no
// transforms, and a prefix code of two symbols for green, of one for the rest.
func webpCheckers(side int, dark, bright uint8) []byte {
	var bits []byte
	n := 0
	put := func(v uint32, width int) {
		for k := range width {
			if n%8 == 0 {
				bits = append(bits, 0)
			}
			bits[n/8] |= byte(v>>k&1) << (n % 8)
			n++
		}
	}
	put(0x2f, 8)
	put(uint32(side-1), 14)
	put(uint32(side-1), 14)
	put(0, 1+3)   // no alpha, version 0
	put(0, 1+1+1) // no transform, no colour cache, one group of codes
	put(1, 1)     // green: simple,
	put(1, 1)     // two symbols
	put(1, 1)     // of eight bits
	put(uint32(dark), 8)
	put(uint32(bright), 8)
	for _, symbol := range []uint32{0, 0, 255, 0} { // red, blue, alpha, distance
		put(1, 1)
		put(0, 1)
		put(1, 1)
		put(symbol, 8)
	}
	for i := range side * side {
		put(uint32((i/side+i%side)%2), 1)
	}
	if len(bits)%2 == 1 {
		bits = append(bits, 0)
	}
	out := []byte("RIFF....WEBPVP8L....")
	out = append(out, bits...)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	binary.LittleEndian.PutUint32(out[16:], uint32(len(bits)))
	return out
}

// npyFile is an NPY file of version 1 with the given header entries and data.
func npyFile(descr, fortran, shape string, data any) []byte {
	var body bytes.Buffer
	if err := binary.Write(&body, binary.LittleEndian, data); err != nil {
		panic(err)
	}
	return npyWithHeader(fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, fortran, shape), body.Bytes())
}

func npyWithHeader(header string, body []byte) []byte {
	out := append([]byte("\x93NUMPY"), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	return append(append(out, header...), body...)
}

// entry is a file of a zip archive.
type entry struct {
	name string
	data []byte
}

func npz(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		f, err := w.Create(e.name)
		if err == nil {
			_, err = f.Write(e.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// written stores data under a name in a fresh folder and returns the path.
func written(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
