package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/npy/npytest"
)

// field is a 7×5 picture with awkward values.
func field() (pixels []float32, w, h int) {
	w, h = 7, 5
	pixels = make([]float32, w*h)
	for i := range pixels {
		pixels[i] = float32(math.Sin(float64(i))) * 3
	}
	pixels[3] = math.SmallestNonzeroFloat32
	return pixels, w, h
}

func TestSavedNPYReadsBackBitForBit(t *testing.T) {
	pixels, w, h := field()
	pixels[5], pixels[6] = float32(math.NaN()), float32(math.Inf(1))
	path := filepath.Join(t.TempDir(), "a.npy")
	var unfit *NotFiniteError
	if _, err := SavePair(t.Context(), strings.TrimSuffix(path, ".npy"), pixels, w, h); !errors.As(err, &unfit) {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kind, shape, stored := npytest.Decode(data)
	if kind != "<f4" || !slices.Equal(shape, []int{h, w}) {
		t.Fatalf("%s of %v", kind, shape)
	}
	back := make([]float32, w*h)
	if _, err := binary.Decode(stored, binary.LittleEndian, back); err != nil {
		t.Fatal(err)
	}
	for i := range pixels {
		if math.Float32bits(back[i]) != math.Float32bits(pixels[i]) {
			t.Errorf("%g at %d, want %g", back[i], i, pixels[i])
		}
	}
	if offset := len(data) - 4*w*h; offset%64 != 0 || data[offset-1] != '\n' {
		t.Errorf("the data begin at byte %d", offset)
	}
}

func TestSavedPNGHoldsItsScale(t *testing.T) {
	pixels, w, h := field()
	path := filepath.Join(t.TempDir(), "a.png")
	if _, err := SavePair(t.Context(), strings.TrimSuffix(path, ".png"), pixels, w, h); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data)) // checks every chunk's CRC
	if err != nil {
		t.Fatal(err)
	}
	grey, ok := img.(*image.Gray16)
	if !ok || grey.Bounds() != image.Rect(0, 0, w, h) {
		t.Fatalf("%T of %v", img, img.Bounds())
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range pixels {
		low, high = math.Min(low, float64(v)), math.Max(high, float64(v))
	}
	for i, v := range pixels {
		got := low + (high-low)*float64(grey.Gray16At(i%w, i/w).Y)/65535
		if math.Abs(got-float64(v)) > (high-low)/65535/1.9 { // half a level, rounded
			t.Errorf("%g at %d, want %g", got, i, v)
		}
	}
	want := "tEXtprismtop\x00min=-2.99"
	if !bytes.Contains(data, []byte(want)) || !bytes.Contains(data, []byte(" max=2.99")) {
		t.Errorf("no text chunk %q", want)
	}
}

func TestAPictureWithoutContrastIsSavedBlack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.png")
	if _, err := SavePair(t.Context(), strings.TrimSuffix(path, ".png"), []float32{2, 2, 2, 2}, 2, 2); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(data, []byte("min=2 max=2")) {
		t.Errorf("%v, %q", err, data)
	}
}

func TestSavingReplacesWholeFilesAndLeavesNoDrafts(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.npy")
	for _, v := range []float32{1, 2} {
		if _, err := SavePair(t.Context(), filepath.Join(folder, "a"), []float32{v}, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasSuffix(data, []byte{0, 0, 0, 0x40}) {
		t.Errorf("%v, %v", data, err)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestSavingErrorsNameThePath(t *testing.T) {
	folder := t.TempDir()
	occupied := filepath.Join(folder, "occupied.npy")
	if err := os.MkdirAll(filepath.Join(occupied, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	one := []float32{1}
	save := func(base string, pixels []float32, w, h int) error {
		_, err := SavePair(t.Context(), base, pixels, w, h)
		return err
	}
	cases := []struct {
		err  error
		want string
	}{
		{save(filepath.Join(folder, "none", "a"), one, 1, 1), "none/a.png: no such file or directory"},
		{save(filepath.Join(file, "a"), one, 1, 1), "file/a.png: not a directory"},
		{save(strings.TrimSuffix(occupied, ".npy"), one, 1, 1), "occupied.npy: file exists"},
		{save("a", one, 2, 1), "a: 1 values for 2 x 1 pixels"},
		{save("a", nil, 0, 0), "a: 0 values for 0 x 0 pixels"},
		{save(filepath.Join(t.TempDir(), "a"), []float32{0, float32(math.NaN())}, 1, 2), "a.png: the value at [1, 0] is NaN: a PNG cannot hold it, NPY can"},
	}
	for _, c := range cases {
		if c.err == nil || !strings.HasPrefix(c.err.Error(), "saving ") || !strings.HasSuffix(c.err.Error(), c.want) {
			t.Errorf("error %v, want %s", c.err, c.want)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 2 {
		t.Errorf("drafts are left: %v, %v", files, err)
	}
}

func TestSavedPicturesLoadAgain(t *testing.T) {
	obj, err := Builtin(t.Context(), "moon", Options{Size: 32, ObjectSize: 32})
	if err != nil {
		t.Fatal(err)
	}
	paths, err := SavePair(t.Context(), filepath.Join(t.TempDir(), "a"), obj.Amplitude, 32, 32)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		back, err := Load(t.Context(), path, Options{Size: 32, ObjectSize: 32})
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range obj.Amplitude {
			if math.Abs(float64(back.Amplitude[i])-math.Sqrt(float64(a))) > 0.005 { // the root of a 16-bit step near 0
				t.Fatalf("%s: %g at %d, want the root of %g", path, back.Amplitude[i], i, a)
			}
		}
	}
}

// No existing file is lost: a pair takes the first name available for both.
func TestANewPairTakesTheFirstFreeName(t *testing.T) {
	base := filepath.Join(t.TempDir(), "moon")
	for _, taken := range []string{base + ".npy", base + "-3.png"} {
		if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"-2", "-4", "-5"} {
		paths, err := SaveNewPair(t.Context(), base, []float32{0, 1, 2, 3}, 2, 2)
		if err != nil || !slices.Equal(paths, []string{base + want + ".png", base + want + ".npy"}) {
			t.Errorf("%v (%v), want %s", paths, err, want)
		}
	}
	if text, _ := os.ReadFile(base + ".npy"); string(text) != "mine" {
		t.Errorf("the file that was there says %q", text)
	}
	if _, err := os.Stat(base + ".png"); err == nil {
		t.Error("half a pair took the name of the file that was there")
	}
}

// A diverged reconstruction is kept as NPY, bit for bit; why there is no PNG is the error.
func TestWhatIsNotFiniteIsSavedAsNPYAlone(t *testing.T) {
	pixels := []float32{0, 1, float32(math.NaN()), float32(math.Inf(-1))}
	base := filepath.Join(t.TempDir(), "moon")
	want, err := encodeNPY(t.Context(), pixels, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		save func(context.Context, string, []float32, int, int) ([]string, error)
		at   string
	}{{SavePair, base}, {SavePair, base}, {SaveNewPair, base + "-2"}} {
		paths, err := c.save(t.Context(), base, pixels, 2, 2)
		var unfit *NotFiniteError
		if !errors.As(err, &unfit) || !strings.Contains(err.Error(), c.at+".png: the value at [1, 0] is NaN") {
			t.Errorf("error %v", err)
		}
		if !slices.Equal(paths, []string{c.at + ".npy"}) {
			t.Errorf("saved %v", paths)
		}
		if got, err := os.ReadFile(c.at + ".npy"); !bytes.Equal(got, want) {
			t.Errorf("%s.npy holds %d other bytes (%v)", c.at, len(got), err)
		}
		if _, err := os.Stat(c.at + ".png"); err == nil {
			t.Errorf("%s.png is there", c.at)
		}
	}
}

// What cannot be saved as a pair is not saved by half.
func TestAPairIsWholeOrNotThere(t *testing.T) {
	folder := t.TempDir()
	base := filepath.Join(folder, "moon")
	if err := os.MkdirAll(filepath.Join(base+".npy", "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := SavePair(t.Context(), base, []float32{0, 1, 2, 3}, 2, 2); err == nil || !strings.Contains(err.Error(), base+".npy") {
		t.Errorf("over a folder: %v", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v)", entries, err)
	}
}
