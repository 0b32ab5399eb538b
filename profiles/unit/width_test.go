package unit_test

import (
	"math"
	"testing"

	"prismtop/profiles/unit"
)

func TestNumbersHaveTheirWidth(t *testing.T) {
	values := []float64{0, 1e-12, 0.004, 0.0994, 0.0996, 0.999, 1, 9.999, 99.99, 99.996, 123.45, 999.96, 12345, 99999,
		math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, v := range values {
		for name, f := range map[string]struct {
			text  string
			width int
		}{
			"milliseconds": {unit.Milliseconds(v * 1e6), 5}, "seconds": {unit.Seconds(v * 1e9), 7}, "loss": {unit.Loss(v), 9},
			"rate": {unit.Rate(v), 10}, "byteSize": {unit.Bytes(int64(min(max(finiteOr0(v), 0), 1e15))), 7}, "ssim": {unit.SSIM(v / 1e6), 6},
		} {
			if got := len([]rune(f.text)); got != f.width {
				t.Errorf("%s of %v is %q: %d wide, want %d", name, v, f.text, got, f.width)
			}
		}
	}
}

func finiteOr0(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
