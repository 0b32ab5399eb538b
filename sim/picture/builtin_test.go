package picture

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestBuiltinObjectsFillTheirWindowAndNothingElse(t *testing.T) {
	for _, name := range BuiltinNames() {
		for _, o := range []Options{{Size: 64, ObjectSize: 64}, {Size: 64, ObjectSize: 32}, {Size: 128, ObjectSize: 73}, {Size: 16, ObjectSize: 8}} {
			obj, err := Builtin(t.Context(), name, o)
			if err != nil {
				t.Errorf("%s %v: %v", name, o, err)
				continue
			}
			if obj.Name != name || obj.Size != o.Size || obj.ObjectSize != o.ObjectSize || len(obj.Amplitude) != o.Size*o.Size {
				t.Fatalf("%s %v: %d values, %+v", name, o, len(obj.Amplitude), obj.Notes)
			}
			if obj.Offset != (o.Size-o.ObjectSize)/2 {
				t.Errorf("%s %v: offset %d", name, o, obj.Offset)
			}
			low, high := float32(2), float32(-1)
			for i, a := range obj.Amplitude {
				low, high = min(low, a), max(high, a)
				y, x := i/o.Size-obj.Offset, i%o.Size-obj.Offset
				if outside := y < 0 || x < 0 || y >= o.ObjectSize || x >= o.ObjectSize; outside && a != 0 {
					t.Fatalf("%s %v: amplitude %g at %d, %d", name, o, a, y, x)
				}
			}
			if low != 0 || high != 1 {
				t.Errorf("%s %v: amplitudes from %g to %g", name, o, low, high)
			}
		}
	}
}

func TestTheSamePictureWhateverTheThreads(t *testing.T) {
	o := Options{Size: 128, ObjectSize: 96}
	first, err := Builtin(t.Context(), "moon", o)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	second, err := Builtin(t.Context(), "moon", o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.Amplitude, second.Amplitude) {
		t.Error("two moons differ")
	}
}

func TestLargerPicturesShowTheSameObject(t *testing.T) {
	for _, name := range []string{"moon", "usaf", "star"} {
		small, large := drawBuiltin(t, name, 64), drawBuiltin(t, name, 256)
		difference := 0.0
		for y := range 64 {
			for x := range 64 {
				sum := 0.0
				for k := range 16 {
					sum += large[(4*y+k/4)*256+4*x+k%4]
				}
				difference += math.Abs(sum/16-small[y*64+x]) / 4096
			}
		}
		// The small picture takes as many samples from each pixel as the large one
		// has pixels there, at other places; details below them differ.
		if difference > 0.02 {
			t.Errorf("%s: mean difference %.4f between 64 and 256 pixels", name, difference)
		}
	}
}

// drawBuiltin returns the intensities of a built-in object.
func drawBuiltin(t *testing.T, name string, side int) []float64 {
	t.Helper()
	obj, err := Builtin(t.Context(), name, Options{Size: side, ObjectSize: side})
	if err != nil {
		t.Fatal(err)
	}
	pixels := make([]float64, len(obj.Amplitude))
	for i, a := range obj.Amplitude {
		pixels[i] = float64(a) * float64(a)
	}
	return pixels
}

func TestTheMoonIsHalfLitAndCratered(t *testing.T) {
	const side = 128
	pixels := drawBuiltin(t, "moon", side)
	left, right, dark, rough := 0.0, 0.0, 0, 0.0
	for i, v := range pixels {
		if i%side < side/2 {
			left += v
		} else {
			right += v
		}
		if v < 0.02 {
			dark++
		}
		if i%side > 0 {
			rough += math.Abs(v - pixels[i-1])
		}
	}
	if right < 2*left {
		t.Errorf("light of %.0f on the left, %.0f on the right", left, right)
	}
	if share := float64(dark) / side / side; share < 0.4 || share > 0.7 {
		t.Errorf("%.0f %% are dark", 100*share)
	}
	if mean := rough / side / side; mean < 0.01 {
		t.Errorf("neighbours differ by %.4f: too smooth for craters", mean)
	}
}

// Bars of successive elements are 2^(1/6) finer: the lengths of the left
// column's top bars and their distance in rows tell it.
func TestUSAFElementsShrinkByTheSixthRootOfTwo(t *testing.T) {
	const side = 1024
	pixels := drawUSAF(t.Context(), side)
	const margin = side * 6 / 100
	var heights []float64
	run := 0.0
	for y := range side {
		v := pixels[y*side+margin+3]
		if v == 0 && run > 0 {
			heights = append(heights, run)
			run = 0
		}
		run += v
	}
	if len(heights) < 15 {
		t.Fatalf("%d bars in the left column, want five elements of three", len(heights))
	}
	for e := range 5 {
		unit := 0.88 * side / layerSide * math.Exp2(-float64(e+1)/6)
		for bar := range 3 {
			if got := heights[3*e+bar]; math.Abs(got-unit) > 1e-6 {
				t.Errorf("element %d: bar of %.4f pixels, want %.4f", e+2, got, unit)
			}
		}
	}
}

func TestStarSpokesAlternateAroundTheMiddle(t *testing.T) {
	const side = 256
	pixels := drawStar(t.Context(), side)
	edges, last := 0, -1
	for k := range 7200 {
		angle := 2 * math.Pi * (float64(k) + 0.25) / 7200
		y, x := side/2+100*math.Sin(angle), side/2+100*math.Cos(angle)
		state := int(math.Round(pixels[int(y)*side+int(x)]))
		if last >= 0 && state != last {
			edges++
		}
		last = state
	}
	if edges < 2*starSpokes-1 || edges > 2*starSpokes+1 {
		t.Errorf("%d edges for %d spokes", edges, starSpokes)
	}
}

func TestPointsHoldPRISMsRow(t *testing.T) {
	const side = 64
	pixels := drawPoints(t.Context(), side)
	// A disc 3 pixels across has an area of π·1.5²; supersampling is within 5 %.
	sum := 0.0
	for y := side/2 - 3; y < side/2+3; y++ {
		for x := side/2 - 11; x < side/2+11; x++ {
			sum += pixels[y*side+x]
		}
	}
	if want := 4 * math.Pi * 2.25; math.Abs(sum-want) > 0.05*want {
		t.Errorf("the row's light is %.2f, want %.2f", sum, want)
	}
}

func TestInvertedBuiltinsAreDarkOnBright(t *testing.T) {
	plain, err := Builtin(t.Context(), "star", Options{Size: 64, ObjectSize: 32})
	if err != nil {
		t.Fatal(err)
	}
	inverted, err := Builtin(t.Context(), "star", Options{Size: 64, ObjectSize: 32, Invert: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range plain.Amplitude {
		y, x := i/64-16, i%64-16
		want := 0.0
		if y >= 0 && x >= 0 && y < 32 && x < 32 {
			want = math.Sqrt(1 - float64(plain.Amplitude[i])*float64(plain.Amplitude[i]))
		}
		if got := float64(inverted.Amplitude[i]); math.Abs(got-want) > 1e-3 {
			t.Fatalf("amplitude %g at %d, %d, want %g", got, y, x, want)
		}
	}
}

func TestBuiltinErrorsNameTheObject(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"sun", Options{Size: 64, ObjectSize: 64}, `object "sun": must be one of moon, usaf, star, points`},
		{"moon", Options{Size: 64, ObjectSize: 65}, `object "moon": object_size = 65: must be from 1 to size, 64`},
		{"moon", Options{}, `object "moon": size = 0: must be at least 1`},
	} {
		if _, err := Builtin(t.Context(), c.name, c.o); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	if _, err := Builtin(t.Context(), "moon", Options{Size: 1, ObjectSize: 1}); err == nil || !strings.Contains(err.Error(), "contrast") {
		t.Errorf("one pixel: error %v", err)
	}
}

func BenchmarkBuiltin(b *testing.B) {
	for _, name := range BuiltinNames() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Builtin(b.Context(), name, Options{Size: 256, ObjectSize: 64}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
