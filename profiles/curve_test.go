package profiles

import (
	"reflect"
	"testing"
)

func TestPartsOfACurveAreFoundByTheirIterations(t *testing.T) {
	c := Curve{{First: 0, Last: 9}, {First: 10, Last: 19}, {First: 40, Last: 49}}
	for _, tt := range []struct{ first, last, from, n int64 }{
		{0, 100, 0, 3}, {9, 10, 0, 2}, {20, 39, 2, 0}, {-5, -1, 0, 0}, {50, 60, 3, 0}, {45, 45, 2, 1}, {30, 5, 2, 0},
	} {
		got := c.Between(tt.first, tt.last)
		if int64(len(got)) != tt.n || tt.n > 0 && !reflect.DeepEqual(got[0], c[tt.from]) {
			t.Errorf("from %d to %d: %v", tt.first, tt.last, got)
		}
	}
	for iteration, want := range map[int64]int{-3: 0, 0: 0, 9: 0, 10: 1, 21: 1, 38: 2, 49: 2, 1000: 2} {
		if got := c.Nearest(iteration); got != want {
			t.Errorf("nearest to %d: %d, want %d", iteration, got, want)
		}
	}
	if got := Curve(nil).Nearest(3); got != -1 {
		t.Errorf("in nothing: %d", got)
	}
}
