package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/color/palette"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEveryFormatGivesTheSameObject(t *testing.T) {
	grey := wedge(16, 16, 17)
	deep := image.NewGray16(grey.Bounds())
	colour := image.NewNRGBA(grey.Bounds())
	paletted := image.NewPaletted(grey.Bounds(), palette.Plan9)
	for y := range 16 {
		for x := range 16 {
			deep.Set(x, y, grey.At(x, y))
			colour.Set(x, y, grey.At(x, y))
			paletted.Set(x, y, grey.At(x, y))
		}
	}
	floats, bytes8 := make([]float64, 256), make([]uint8, 256)
	for i := range floats {
		floats[i], bytes8[i] = float64(i%16)*0.5, uint8(i%16)
	}
	columns := make([]uint8, 256)
	for i := range columns {
		columns[i] = uint8(i / 16)
	}
	array := npyFile("<f8", "False", "(16, 16)", floats)
	cases := []struct {
		name string
		data []byte
	}{
		{"grey.png", encoded(t, "png", grey)},
		{"deep.png", encoded(t, "png", deep)},
		{"colour.png", encoded(t, "png", colour)},
		{"grey.tif", encoded(t, "tif", grey)},
		{"deep.tif", encoded(t, "tif", deep)},
		{"grey.bmp", encoded(t, "bmp", grey)},
		{"colour.bmp", encoded(t, "bmp", colour)},
		{"grey.gif", encoded(t, "gif", paletted)},
		{"grey.jpg", encoded(t, "jpg", grey)},
		{"colour.jpg", encoded(t, "jpg", colour)},
		{"float64.npy", array},
		{"uint8.npy", npyFile("|u1", "False", "(16, 16)", bytes8)},
		{"fortran.npy", npyFile("|u1", "True", "(16, 16)", columns)},
		{"named wrongly.txt", array},
		{"one.npz", npz(t, entry{"a.npy", array})},
	}
	for _, c := range cases {
		obj, err := Load(t.Context(), written(t, c.name, c.data), Options{Size: 32, ObjectSize: 16})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if obj.Name != c.name || obj.Offset != 8 || obj.Notes != nil {
			t.Errorf("%s: %q at %d, notes %q", c.name, obj.Name, obj.Offset, obj.Notes)
		}
		tolerance := 1e-6
		if strings.HasSuffix(c.name, ".jpg") || strings.HasSuffix(c.name, ".gif") {
			tolerance = 0.03 // JPEG rounds its transform, the palette has few greys
		}
		for i, got := range obj.Amplitude {
			y, x := i/32-8, i%32-8
			want := 0.0
			if y >= 0 && x >= 0 && y < 16 && x < 16 {
				want = math.Sqrt(float64(x) / 15)
			}
			if math.Abs(float64(got)-want) > tolerance {
				t.Fatalf("%s: amplitude %g at [%d, %d], want %g", c.name, got, y, x, want)
			}
		}
	}
}

func TestWebPIsRead(t *testing.T) {
	obj, err := Load(t.Context(), written(t, "a.webp", webpCheckers(8, 0, 200)), Options{Size: 8, ObjectSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range obj.Amplitude {
		if want := float32((i/8 + i%8) % 2); got != want {
			t.Fatalf("amplitude %g at %d, want %g", got, i, want)
		}
	}
}

func TestColourBecomesLuma(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 8, 8))
	for i := range 64 {
		img.Set(i%8, i/8, []color.NRGBA{{R: 255, A: 255}, {G: 255, A: 255}, {B: 255, A: 255}, {R: 255, G: 255, B: 255, A: 255}, {A: 255}, {R: 255, A: 0}, {A: 255}, {A: 255}}[i%8])
	}
	obj, err := Load(t.Context(), written(t, "a.png", encoded(t, "png", img)), Options{Size: 8, ObjectSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	for x, want := range []float64{0.2989, 0.587, 0.114, 0.9999, 0, 0, 0, 0} {
		got := float64(obj.Amplitude[8*3+x])
		if math.Abs(got*got-want/0.9999) > 1e-6 {
			t.Errorf("intensity %g in column %d, want %g", got*got, x, want/0.9999)
		}
	}
}

// The minimum is subtracted where there is no padding, and is the padding's
// zero elsewhere (spec/prism.md §8).
func TestTheMinimumIsTheFieldsOwn(t *testing.T) {
	path := written(t, "a.png", encoded(t, "png", checkers(8, 51, 255)))
	for _, c := range []struct {
		o    Options
		want [2]float64 // intensities
	}{
		{Options{Size: 8, ObjectSize: 8}, [2]float64{0, 1}},
		{Options{Size: 16, ObjectSize: 8}, [2]float64{0.2, 1}},
		{Options{Size: 16, ObjectSize: 8, Invert: true}, [2]float64{1, 0}},
	} {
		obj, err := Load(t.Context(), path, c.o)
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range c.want {
			got := float64(obj.Amplitude[obj.Offset*c.o.Size+obj.Offset+k])
			if math.Abs(got*got-want) > 1e-6 {
				t.Errorf("%+v: intensity %g in column %d, want %g", c.o, got*got, k, want)
			}
		}
	}
}

func TestPicturesThatAreNotSquareArePaddedAndNoted(t *testing.T) {
	obj, err := Load(t.Context(), written(t, "wide.png", encoded(t, "png", wedge(32, 16, 8))), Options{Size: 16, ObjectSize: 16})
	if err != nil {
		t.Fatal(err)
	}
	if len(obj.Notes) != 1 || obj.Notes[0] != "the picture is 32 x 16 pixels: padded to a square" {
		t.Errorf("notes %q", obj.Notes)
	}
	for y := range 16 {
		sum := float32(0)
		for _, v := range obj.Amplitude[16*y:][:16] {
			sum += v
		}
		if inside := y >= 4 && y < 12; inside != (sum > 0) {
			t.Errorf("row %d has light %g", y, sum)
		}
	}
	tall, err := Load(t.Context(), written(t, "tall.png", encoded(t, "png", wedge(1, 300, 8))), Options{Size: 16, ObjectSize: 8})
	if err == nil || !strings.Contains(err.Error(), "contrast") {
		t.Errorf("a black line: %v, %v", tall, err)
	}
}

func TestNPZTakesTheNamedOrTheFirstMatrix(t *testing.T) {
	matrix := func(peak float32) []byte {
		return npyFile("<f4", "False", "(2, 2)", []float32{0, peak, 0.5, 1})
	}
	path := written(t, "a.npz", npz(t, entry{"scalar.npy", npyFile("<f4", "False", "()", []float32{1})},
		entry{"readme.txt", []byte("hello")}, entry{"first.npy", matrix(4)}, entry{"second.npy", matrix(2)}))
	o := Options{Size: 2, ObjectSize: 2}
	obj, err := Load(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(obj.Notes) != 1 || obj.Notes[0] != `3 arrays: taking "first", the first of two dimensions` || obj.Amplitude[3] != 0.5 {
		t.Errorf("%+v", obj)
	}
	if obj, err = Load(t.Context(), path+":second", o); err != nil || obj.Notes != nil || math.Abs(float64(obj.Amplitude[3])-math.Sqrt(0.5)) > 1e-6 {
		t.Errorf("%+v, %v", obj, err)
	}
	for name, want := range map[string]string{
		"third":  `no array "third": must be one of "first", "second"`,
		"scalar": `array "scalar": the array has shape (): must have two dimensions`,
	} {
		if _, err := Load(t.Context(), path+":"+name, o); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestNegativeValuesKeepThePaddingDark(t *testing.T) {
	path := written(t, "a.npy", npyFile("<i2", "False", "(2, 2)", []int16{-300, 100, -100, 0}))
	obj, err := Load(t.Context(), path, Options{Size: 4, ObjectSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{0, 1, 0.5, 0.75}
	for k, w := range want {
		got := float64(obj.Amplitude[(1+k/2)*4+1+k%2])
		if math.Abs(got*got-w) > 1e-6 {
			t.Errorf("intensity %g, want %g", got*got, w)
		}
	}
	if obj.Amplitude[0] != 0 || len(obj.Notes) != 1 || obj.Notes[0] != "values below zero: lifted by 300" {
		t.Errorf("padding %g, notes %q", obj.Amplitude[0], obj.Notes)
	}
}

// Resizing compared with the definition: the weighted mean over the triangle
// around the output pixel's middle, taken in both directions at once.
func TestResizingFollowsTheTriangleFilter(t *testing.T) {
	const w, h = 37, 53
	pixels := make([]float64, w*h)
	for i := range pixels {
		pixels[i] = math.Abs(math.Sin(float64(i * i % 1013)))
	}
	src := source{w: w, h: h, row: func(y int, to []float64) error { copy(to, pixels[y*w:]); return nil }}
	for _, window := range []int{8, 20, 53, 90} {
		p, err := resizeToWindow(t.Context(), src, window)
		if err != nil {
			t.Fatal(err)
		}
		if p.h != window || p.w != int(math.Round(float64(window)*w/h)) {
			t.Fatalf("window %d: %d x %d", window, p.w, p.h)
		}
		for _, at := range [][2]int{{0, 0}, {p.h / 2, p.w / 3}, {p.h - 1, p.w - 1}, {1, p.w - 2}} {
			want := filtered(pixels, w, h, p.w, p.h, at)
			if got := p.pixels[at[0]*p.w+at[1]]; math.Abs(got-want) > 1e-12 {
				t.Errorf("window %d: %g at %v, want %g", window, got, at, want)
			}
		}
	}
}

// filtered is one output pixel of resizing w×h to toW×toH.
func filtered(pixels []float64, w, h, toW, toH int, at [2]int) float64 {
	sy, sx := float64(h)/float64(toH), float64(w)/float64(toW)
	sum, total := 0.0, 0.0
	for y := range h {
		for x := range w {
			dy := math.Abs(float64(y)+0.5-(float64(at[0])+0.5)*sy) / math.Max(1, sy)
			dx := math.Abs(float64(x)+0.5-(float64(at[1])+0.5)*sx) / math.Max(1, sx)
			if dy < 1 && dx < 1 {
				sum += (1 - dy) * (1 - dx) * pixels[y*w+x]
				total += (1 - dy) * (1 - dx)
			}
		}
	}
	return sum / total
}

const sharedData = "../../../shared/data"

func TestRealPicturesFollowTheLoadingRule(t *testing.T) {
	for _, name := range []string{"europa.jpg", "titan_temp.jpg", "USAF.jpg", "star.jpg"} {
		data, err := os.ReadFile(filepath.Join(sharedData, name))
		if err != nil {
			t.Skipf("the pictures are not here: %v", err)
		}
		img, _, err := image.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		side := img.Bounds().Dx()
		pixels := make([]float64, side*side)
		for i := range pixels {
			grey, _, _, _ := img.At(i%side, i/side).RGBA()
			pixels[i] = float64(grey) / 65535
		}
		const size, window = 256, 73
		began := time.Now()
		obj, err := Load(t.Context(), filepath.Join(sharedData, name), Options{Size: size, ObjectSize: window})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d², %v", name, side, time.Since(began))
		if obj.Offset != 91 || obj.Notes != nil {
			t.Errorf("%s: offset %d, notes %q", name, obj.Offset, obj.Notes)
		}
		// The brightest output pixel is the divisor; float32 rounds the result.
		peak := slices.Index(obj.Amplitude, 1)
		scale := filtered(pixels, side, side, window, window, [2]int{peak/size - 91, peak%size - 91})
		for _, at := range [][2]int{{36, 36}, {10, 50}, {72, 72}, {60, 20}} {
			want := math.Sqrt(filtered(pixels, side, side, window, window, at) / scale)
			got := float64(obj.Amplitude[(91+at[0])*size+91+at[1]])
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: amplitude %g at %v, want %g", name, got, at, want)
			}
		}
	}
}

func BenchmarkLoadEuropa(b *testing.B) {
	path := filepath.Join(sharedData, "europa.jpg")
	if _, err := os.Stat(path); err != nil {
		b.Skipf("the picture is not here: %v", err)
	}
	for b.Loop() {
		if _, err := Load(b.Context(), path, Options{Size: 1024, ObjectSize: 73}); err != nil {
			b.Fatal(err)
		}
	}
}
