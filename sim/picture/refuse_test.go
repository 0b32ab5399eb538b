package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// pngHeader is a PNG that claims w×h grey pixels and ends there.
func pngHeader(w, h uint32) []byte {
	body := binary.BigEndian.AppendUint32([]byte("IHDR"), w)
	body = binary.BigEndian.AppendUint32(body, h)
	body = append(body, 8, 0, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	return binary.BigEndian.AppendUint32(append(out, body...), crc32.ChecksumIEEE(body))
}

// gifHeader is a GIF that claims a screen of w×h.
func gifHeader(w, h uint16) []byte {
	out := binary.LittleEndian.AppendUint16([]byte("GIF89a"), w)
	return append(binary.LittleEndian.AppendUint16(out, h), 0, 0, 0)
}

// bmpHeader is a BMP that claims w×h pixels of 24 bits.
func bmpHeader(w, h uint32) []byte {
	out := append([]byte("BM"), 0, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0)
	out = binary.LittleEndian.AppendUint32(out, w)
	out = binary.LittleEndian.AppendUint32(out, h)
	return append(out, append([]byte{1, 0, 24, 0}, make([]byte, 24)...)...)
}

func TestBadFilesAreRefusedInOneLine(t *testing.T) {
	photo := encoded(t, "jpg", checkers(64, 30, 220))
	drawing := encoded(t, "png", checkers(64, 30, 220))
	small := npyFile("<f4", "False", "(2, 2)", []float32{0, 1, 2, 3})
	claim := npyWithHeader("{'descr': '<f8', 'fortran_order': False, 'shape': (9000, 9000), }\n", nil)
	damaged := npz(t, entry{"a.npy", npyFile("|u1", "False", "(64, 64)", make([]uint8, 4096))})
	damaged[len(damaged)/3]++
	cases := []struct {
		name string
		data []byte
		want string
	}{
		{"notes.txt", []byte("a text file\n"), "not a picture: must be PNG, JPEG, GIF, TIFF, BMP, WebP, NPY or NPZ"},
		{"big.tif", []byte("II+\x00\x08\x00\x00\x00"), "truncated or damaged TIFF: 8 bytes at 8 are outside the file of 8 bytes"},
		{"claim.tif", []byte("MM\x00*\x00\x00\x00\x08\x00\x04\x01\x00\x00\x04\x00\x00\x00\x01\x00\x00\x27\x10\x01\x01\x00\x04\x00\x00\x00\x01\x00\x00\x27\x10" +
			"\x01\x02\x00\x03\x00\x00\x00\x01\x00\x08\x00\x00\x01\x06\x00\x03\x00\x00\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00"), "truncated TIFF: the file ends too early"},
		{"a.jp2", []byte("\x00\x00\x00\x0cjP  \r\n\x87\n"), "unsupported JPEG 2000: must be saved as PNG, such as 16-bit greyscale, or as NPY"},
		{"a.jxl", []byte("\xff\x0a\x00"), "unsupported JPEG XL: "},
		{"a.heic", []byte("\x00\x00\x00\x18ftypheic"), "unsupported HEIF: "},
		{"a.avif", []byte("\x00\x00\x00\x18ftypavif"), "unsupported AVIF: "},
		{"a.psd", []byte("8BPS\x00\x01"), "unsupported Photoshop: "},
		{"a.exr", []byte("\x76\x2f\x31\x01"), "unsupported OpenEXR: "},
		{"a.fits", []byte("SIMPLE  =                    T"), "unsupported FITS: "},
		{"a.h5", []byte("\x89HDF\r\n\x1a\n"), "unsupported HDF5: "},
		{"a.pgm", []byte("P5\n2 2\n255\n...."), "unsupported Netpbm: "},
		{"empty.png", nil, "is empty; give a picture file, PNG"},
		{"nothing.png", pngHeader(0, 0), "0 x 0 pixels: must have at least one"},
		{"huge.png", pngHeader(40_000, 40_000), "40000 x 40000 pixels: must be at most 100 megapixels and 65535 to a side"},
		{"long.png", pngHeader(1<<31-1, 1), "2147483647 x 1 pixels: must be at most 100 megapixels"},
		{"huge.gif", gifHeader(40_000, 40_000), "40000 x 40000 pixels: must be at most"},
		{"nothing.gif", gifHeader(0, 0), "0 x 0 pixels: must have at least one"},
		{"huge.bmp", bmpHeader(40_000, 40_000), "40000 x 40000 pixels: must be at most"},
		{"nothing.bmp", bmpHeader(0, 0), "0 x 0 pixels: must have at least one"},
		{"cut.jpg", photo[:len(photo)/2], "truncated or damaged JPEG: "},
		{"head.jpg", photo[:3], "truncated JPEG: the file ends too early"},
		{"cut.png", drawing[:len(drawing)/2], "truncated or damaged PNG: "},
		{"magic.png", drawing[:8], "truncated PNG: the file ends too early"},
		{"flat.png", encoded(t, "png", checkers(8, 90, 90)), "every pixel has the same value: must have some contrast"},
		{"black.png", encoded(t, "png", image.NewGray(image.Rect(0, 0, 4, 4))), "every pixel has the same value"},
		{"nan.npy", npyFile("<f4", "False", "(2, 2)", []float32{0, 1, float32(math.NaN()), 3}), "the array has NaN at [1, 0]: must hold finite numbers"},
		{"inf.npy", npyFile("<f8", "True", "(2, 2)", []float64{0, 1, math.Inf(-1), 3}), "the array has -Inf at [0, 1]: must hold finite numbers"},
		{"cube.npy", npyFile("<f4", "False", "(1, 2, 2)", []float32{0, 1, 2, 3}), "the array has shape (1, 2, 2): must have two dimensions"},
		{"none.npy", npyFile("<f4", "False", "(0, 0)", []float32{}), "0 x 0 pixels: must have at least one"},
		{"complex.npy", npyFile("<c8", "False", "(1, 2)", []float32{0, 1, 2, 3}), `the array's type is "<c8": must be real numbers`},
		{"text.npy", npyFile("<U7", "False", "(1, 2)", []float32{0, 1, 2, 3}), `the array's type is "<U7": must be real numbers`},
		{"object.npy", npyFile("|O", "False", "(1, 2)", []float32{0, 1, 2, 3}), `the array's type is "|O": must be real numbers`},
		{"record.npy", npyWithHeader("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n", nil), "damaged NPY: the array holds records: must hold plain numbers"},
		{"cut.npy", small[:len(small)-1], "truncated NPY: shape (2, 2) of <f4 needs 16 bytes, there are 15"},
		{"claim.npy", claim, "truncated NPY: shape (9000, 9000) of <f8 needs 648000000 bytes, there are 0"},
		{"vast.npy", npyWithHeader("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }\n", nil), "the array has shape (4611686018427387904, 4): must be at most 100 megapixels"},
		{"beyond.npy", npyWithHeader("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 4), }\n", nil), "damaged NPY: the header's shape cannot be read"},
		{"negative.npy", npyWithHeader("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4), }\n", nil), "damaged NPY: the header's shape cannot be read"},
		{"header.npy", append([]byte("\x93NUMPY"), 2, 0, 0xff, 0xff, 0xff, 0x7f), "damaged NPY: a header of 2147483647 bytes, must be at most 8192"},
		{"version.npy", append([]byte("\x93NUMPY"), 9, 0, 1, 0), "NPY version 9: must be 1 to 3"},
		{"magic.npy", []byte("\x93NUMPY"), "truncated NPY: there is no header"},
		{"prose.npy", npyWithHeader("hello\n", nil), "damaged NPY: the header is not a dictionary"},
		{"twice.npy", npyWithHeader("{'shape': (2, 2), 'shape': (2, 2)}\n", nil), "damaged NPY: the header cannot be read"},
		{"half.npy", npyWithHeader("{'shape': (2, 2)}\n", nil), "damaged NPY: the header must hold descr"},
		{"claim.npz", npz(t, entry{"a.npy", claim}), `array "a": truncated NPY: shape (9000, 9000)`},
		{"damaged.npz", damaged, `array "a": `},
		{"none.npz", npz(t), "a zip archive without arrays: must be an NPZ"},
		{"plain.npz", npz(t, entry{"a.txt", []byte("x")}), "a zip archive without arrays: must be an NPZ"},
		{"vectors.npz", npz(t, entry{"a.npy", npyFile("<f4", "False", "(2,)", []float32{1, 2})}, entry{"b.npy", npyFile("<f4", "False", "(2,)", []float32{1, 2})}), "none of the 2 arrays has two dimensions"},
		{"cut.npz", damaged[:40], "damaged NPZ: zip: not a valid zip file"},
	}
	for _, c := range cases {
		path := written(t, c.name, c.data)
		obj, err := Load(t.Context(), path, Options{Size: 64, ObjectSize: 32})
		if err == nil {
			t.Errorf("%s: read as %+v", c.name, obj.Notes)
			continue
		}
		got, named := strings.CutPrefix(err.Error(), "picture "+path+": ")
		if !named || !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: error %q, want %q", c.name, err, c.want)
		}
	}
}

func TestPlacesThatAreNoPictureFilesAreRefused(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	locked := filepath.Join(folder, "locked.png")
	if err := os.WriteFile(locked, []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		folder:                              "is a folder: must be a picture file, PNG",
		pipe:                                "is a pipe: must be a picture file",
		filepath.Join(folder, "none.png"):   "no such file or directory",
		filepath.Join(folder, "none.npz:a"): "no such file or directory",
		"":                                  "no such file or directory",
		strings.Repeat("x", 5000):           "file name too long",
	}
	if os.Getuid() != 0 {
		cases[locked] = "permission denied"
	}
	for path, want := range cases {
		_, err := Load(t.Context(), path, Options{Size: 64, ObjectSize: 32})
		if err == nil || !strings.HasPrefix(err.Error(), "picture "+path+": "+want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestBadOptionsAreRefusedBeforeReading(t *testing.T) {
	_, err := Load(t.Context(), "none.png", Options{Size: 64, ObjectSize: 65})
	if err == nil || err.Error() != "picture none.png: object_size = 65: must be from 1 to size, 64" {
		t.Errorf("error %v", err)
	}
}

func TestAPanickingDecoderIsAnError(t *testing.T) {
	err := guarded(func() error { panic("index out of range\nat 3") })
	if err == nil {
		t.Fatal("no error")
	}
	if got := damaged("PNG", err).Error(); got != "truncated or damaged PNG: the decoder failed: index out of range at 3" {
		t.Errorf("error %q", got)
	}
}

// A zip bomb: zeros that compress a thousandfold, behind a small shape.
func TestAnArchiveIsReadNoFurtherThanItsShape(t *testing.T) {
	bomb := npyFile("|u1", "False", "(2, 2)", append([]uint8{0, 1, 2, 3}, bytes.Repeat([]byte{0}, 1<<24)...))
	_, err := Load(t.Context(), written(t, "bomb.npz", npz(t, entry{"a.npy", bomb})), Options{Size: 2, ObjectSize: 2})
	if err == nil || !strings.HasSuffix(err.Error(), "more data than the shape holds") {
		t.Errorf("error %v", err)
	}
}
