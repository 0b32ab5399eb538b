package cyto

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// The numbers are those of PyTorch 2.14's interpolate(mode="area") and adaptive_avg_pool3d
// on the same ramp: a quarter of a side of 8, and 0.3 of 10 and 7, whose boxes overlap.
func TestZoomIsTheMeanOfBoxes(t *testing.T) {
	got, err := Zoom(t.Context(), ramp([3]int{4, 8, 8}), 0.25)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float32{109.5, 113.5, 141.5, 145.5}; got.Sides != [3]int{1, 2, 2} || !slices.Equal(got.Values, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, err = Zoom(t.Context(), ramp([3]int{1, 10, 7}), 0.3); err != nil {
		t.Fatal(err)
	}
	// Rows 0-3, 3-6 and 6-9 of 10, columns 0-3 and 3-6 of 7.
	if want := []float32{12, 15, 33, 36, 54, 57}; got.Sides != [3]int{1, 3, 2} || !slices.Equal(got.Values, want) {
		t.Errorf("%v, want %v", got, want)
	}
	same := ramp([3]int{2, 3, 4})
	if got, err := Zoom(t.Context(), same, 1); err != nil || !slices.Equal(got.Values, same.Values) {
		t.Errorf("a zoom of 1 changed the image (%v)", err)
	}
	for want, factor := range map[string]float64{"zoom of 0: must be": 0, "zoom of 1.5: must be": 1.5, "zoom of NaN": math.NaN(), "zoom of 0.1 for sides of 2x3x4 voxels: leaves none": 0.1} {
		if _, err := Zoom(t.Context(), same, factor); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Zoom(ctx, same, 0.5); !errors.Is(err, context.Canceled) {
		t.Errorf("%v after the context has ended", err)
	}
}

func TestLogitsBecomeProbabilities(t *testing.T) {
	x := []float32{0, 1, -100, 100}
	Sigmoid(x)
	if math.Abs(float64(x[1])-0.73105857863) > 1e-7 || x[0] != 0.5 || x[2] != 0 && x[2] > 1e-40 || x[3] != 1 {
		t.Errorf("%v", x)
	}
}

// Voxels are interpolated as PyTorch's interpolate does: torch 2.15, mode trilinear, of
// arange(6) as 1x2x3 to 1x3x5, rounded down after a scale of 51.
func TestImagesAreEnlarged(t *testing.T) {
	got, err := Enlarge(t.Context(), Image{[3]int{1, 2, 3}, []float32{0, 1, 2, 3, 4, 5}}, [3]int{1, 3, 5}, 0, 5)
	if want := []uint8{0, 20, 51, 81, 102, 76, 96, 127, 158, 178, 153, 173, 204, 234, 255}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v: want %v", got, err, want)
	}
	if got, err := Enlarge(t.Context(), Image{[3]int{1, 1, 2}, []float32{3, 3}}, [3]int{2, 1, 2}, 3, 3); err != nil || !slices.Equal(got, make([]uint8, 4)) {
		t.Errorf("equal values: %v, %v", got, err)
	}
}
