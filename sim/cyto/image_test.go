package cyto

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestNormalisedValuesHaveNoMeanAndUnitDeviation(t *testing.T) {
	x := []float32{3, 5, 7, 9}
	Normalise(x)
	if want := []float32{-1.3416408, -0.4472136, 0.4472136, 1.3416408}; !slices.EqualFunc(x, want, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-6 }) {
		t.Errorf("%v, want %v", x, want)
	}
	x = []float32{4, 4}
	Normalise(x)
	if !slices.Equal(x, []float32{0, 0}) {
		t.Errorf("equal values became %v", x)
	}
	x = []float32{-1, 0.09, 0.1, 7}
	Mask(x)
	if !slices.Equal(x, []float32{0, 0, 1, 1}) {
		t.Errorf("the mask is %v", x)
	}
}

func TestDiceCountsVoxels(t *testing.T) {
	for _, c := range []struct {
		logits, target []float32
		want           float64
	}{
		{[]float32{1, 1, -1, -1}, []float32{1, 0, 1, 0}, 0.5},
		{[]float32{2, -2}, []float32{1, 0}, 1},
		{[]float32{-2, 2}, []float32{1, 0}, 0},
		{[]float32{0, -1}, []float32{0, 0}, 1},
	} {
		if got := DiceOf(c.logits, c.target); got != c.want {
			t.Errorf("%v against %v: %g, want %g", c.logits, c.target, got, c.want)
		}
	}
}

// Nuclei are bright where their mask is, and a seed gives the same ones every time.
func TestCellsAreBrightInsideTheirMask(t *testing.T) {
	o := CellsOptions{Sides: [3]int{20, 64, 48}, Cells: 12, Noise: 0.05, Seed: 3}
	image, mask, err := Cells(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := Cells(t.Context(), o)
	if err != nil || !slices.Equal(image.Values, again.Values) {
		t.Errorf("a second image of the same seed differs (%v)", err)
	}
	var sums, counts [2]float64
	for i, v := range image.Values {
		m := int(mask.Values[i])
		sums[m] += float64(v)
		counts[m]++
	}
	if part := counts[1] / float64(len(image.Values)); part < 0.05 || part > 0.5 {
		t.Errorf("nuclei fill %.2f of the image", part)
	}
	if inside, outside := sums[1]/counts[1], sums[0]/counts[0]; inside < 0.7 || outside > 0.3 {
		t.Errorf("the mean is %.2f inside and %.2f outside", inside, outside)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Cells(ended, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v after the context has ended", err)
	}
	for want, bad := range map[string]CellsOptions{
		"sides of 0x4x4":     {Sides: [3]int{0, 4, 4}},
		"268435456 voxels":   {Sides: [3]int{1 << 10, 1 << 10, 1 << 10}},
		"-1 cells":           {Sides: [3]int{4, 4, 4}, Cells: -1},
		"noise of -1: must":  {Sides: [3]int{4, 4, 4}, Noise: -1},
		"noise of NaN: must": {Sides: [3]int{4, 4, 4}, Noise: math.NaN()},
	} {
		if _, _, err := Cells(t.Context(), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// ramp is an image whose values are their indices.
func ramp(sides [3]int) Image {
	image := NewImage(sides)
	for i := range image.Values {
		image.Values[i] = float32(i)
	}
	return image
}

// A patch is a box of the image, and that of the target is from the same place; all places
// occur, and drawing allocates nothing.
func TestPatchesAreBoxesOfBoth(t *testing.T) {
	image := ramp([3]int{3, 4, 5})
	target := ramp(image.Sides)
	for i := range target.Values {
		target.Values[i] += 1000
	}
	patch := [3]int{2, 3, 2}
	pair, s, random := Pair{Image: image, Target: target}, NewCropper(patch, false), rand.New(rand.NewPCG(1, 2))
	x, y, corners := make([]float32, s.Floats()), make([]float32, s.Floats()), map[float32]bool{}
	for range 400 {
		s.Draw(random, &pair, x, y)
		corners[x[0]] = true
		for i := range x {
			z, row, column := i/6, i/2%3, i%2
			if want := x[0] + float32(z*20+row*5+column); x[i] != want || y[i] != want+1000 {
				t.Fatalf("[%d] is %v and %v, want %v", i, x[i], y[i], want)
			}
		}
	}
	if len(corners) != 2*2*4 {
		t.Errorf("patches came from %d places of 16", len(corners))
	}
	s.augment = true
	if n := testing.AllocsPerRun(100, func() { s.Draw(random, &pair, x, y) }); n != 0 {
		t.Errorf("%v allocations per patch", n)
	}
	for want, bad := range map[string]Pair{
		"has sides [3 4 5], its target [3 4 4]":       {Image: image, Target: NewImage([3]int{3, 4, 4})},
		"has sides [1 4 5]: must be at least [2 3 2]": {Image: NewImage([3]int{1, 4, 5}), Target: NewImage([3]int{1, 4, 5})},
	} {
		if err := s.Check(&bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Each change happens to a tenth of the patches and leaves the target alone; about 73 % of
// the patches stay as they are.
func TestAugmentationChangesSomePatches(t *testing.T) {
	image := NewImage([3]int{1, 16, 16})
	for i := range image.Values {
		image.Values[i] = float32(math.Sin(float64(i)))
	}
	pair, s, random := Pair{Image: image, Target: image}, NewCropper(image.Sides, true), rand.New(rand.NewPCG(4, 2))
	const draws = 4000
	x, y, same := make([]float32, s.Floats()), make([]float32, s.Floats()), 0
	for range draws {
		s.Draw(random, &pair, x, y)
		if !slices.Equal(y, image.Values) {
			t.Fatal("the target changed")
		}
		if slices.Equal(x, y) {
			same++
		}
		low, high := float64(slices.Min(x)), float64(slices.Max(x))
		if low < -1.08 || high > 1.08 { // a tenth of the standard deviation beyond ±1
			t.Fatalf("values from %g to %g", low, high)
		}
	}
	// 0.9³ = 0.729, with a standard deviation of 0.007.
	if part := float64(same) / draws; math.Abs(part-0.729) > 0.03 {
		t.Errorf("%.3f of the patches are unchanged, want 0.729", part)
	}
}

func TestCurvesOfAugmentation(t *testing.T) {
	near := func(got, want []float32) {
		t.Helper()
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-6 {
				t.Errorf("%v, want %v", got, want)
				return
			}
		}
	}
	x := []float32{-1, 0, 0.5, 1}
	mapThrough(x, []float64{0, 0.25, 1})
	near(x, []float32{-1, -0.5, 0.25, 1})
	x = []float32{2, 3, 4}
	adjustContrast(x, 2)
	near(x, []float32{2, 2.5, 4})
	x = []float32{7, 7}
	mapThrough(x, []float64{0, 1})
	adjustContrast(x, 0.9)
	near(x, []float32{7, 7})
}
