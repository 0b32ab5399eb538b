package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"testing"

	"prismtop/sim/tiff"
)

// loadBytes is Load on a file in memory, up to the object.
func loadBytes(data []byte, o Options) (*Object, error) {
	src, _, err := open(context.Background(), bytes.NewReader(data), int64(len(data)), "")
	if err != nil {
		return nil, err
	}
	p, err := resizeToWindow(context.Background(), src, o.ObjectSize)
	if err != nil {
		return nil, err
	}
	return place(context.Background(), p, o)
}

// fuzzLoad feeds mutations of the seeds: whatever the bytes, the answer is an
// object of finite amplitudes or an error of one line. Large claims are skipped
// after the header, for the fuzzer's speed.
func fuzzLoad(f *testing.F, seeds ...[]byte) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range formats {
			if !format.recognises(data[:min(16, len(data))]) {
				continue
			}
			_ = guarded(func() error {
				if c, err := format.config(bytes.NewReader(data)); err == nil && c.Width > 0 && c.Height > 1<<20/c.Width {
					t.Skip("skipped: a picture of more than a megapixel takes too long to decode here")
				}
				return nil
			})
		}
		if f, err := tiff.Open(bytes.NewReader(data), int64(len(data))); err == nil && tiff.Is(data) {
			if d, _, err := f.First(); err == nil {
				if p, err := d.Layout(); err == nil && p.Height > 1<<20/p.Width {
					t.Skip("skipped: a picture of more than a megapixel takes too long to decode here")
				}
			}
		}
		obj, err := loadBytes(data, Options{Size: 16, ObjectSize: 8})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than a line: %q", err)
			}
			return
		}
		for i, v := range obj.Amplitude {
			if !(v >= 0 && v <= 1) || math.IsNaN(float64(v)) {
				t.Fatalf("amplitude %g at %d", v, i)
			}
		}
	})
}

func FuzzPNG(f *testing.F) {
	fuzzLoad(f, variantsOf(f, "png", encoded(f, "png", checkers(4, 3, 200)), pngHeader(0, 0))...)
}
func FuzzJPEG(f *testing.F) {
	fuzzLoad(f, variantsOf(f, "jpeg", encoded(f, "jpg", checkers(4, 3, 200)))...)
}
func FuzzGIF(f *testing.F) {
	fuzzLoad(f, variantsOf(f, "gif", encoded(f, "gif", checkers(4, 3, 200)), gifHeader(0, 0))...)
}
func FuzzTIFF(f *testing.F) {
	fuzzLoad(f, variantsOf(f, "tiff", encoded(f, "tif", checkers(4, 3, 200)))...)
}
func FuzzBMP(f *testing.F) {
	fuzzLoad(f, variantsOf(f, "bmp", encoded(f, "bmp", checkers(4, 3, 200)), bmpHeader(4, 4))...)
}
func FuzzWebP(f *testing.F) {
	fuzzLoad(f, variantsOf(f, "webp", webpCheckers(4, 3, 200))...)
}

// variantsOf adds a format's pictures of testdata to the seeds.
func variantsOf(f *testing.F, format string, seeds ...[]byte) [][]byte {
	for _, v := range variants(f) {
		if v.formatOf() == format {
			seeds = append(seeds, v.data)
		}
	}
	return seeds
}

// Whatever the bytes, Exif data give one of the eight orientations.
func FuzzExif(f *testing.F) {
	for o := range uint16(10) {
		f.Add(exifData(binary.LittleEndian, o))
		f.Add(append([]byte(exifPrefix), exifData(binary.BigEndian, o)...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if o := exifOrientation(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))); o < 1 || o > 8 {
			t.Fatalf("orientation %d", o)
		}
	})
}

func FuzzNPY(f *testing.F) {
	fuzzLoad(f, npyFile("<f4", "False", "(2, 3)", []float32{0, 1, 2, 3, 4, 5}), npyFile(">i8", "True", "(1, 2)", []int64{1, 2}),
		npyFile("|u1", "False", "(2, 2, 2)", make([]uint8, 8)))
}

func FuzzNPZ(f *testing.F) {
	fuzzLoad(f, npz(f, entry{"a.npy", npyFile("<f8", "False", "()", []float64{1})}, entry{"b.npy", npyFile("<f4", "False", "(2, 2)", []float32{0, 1, 2, 3})}))
}
