package verify

import (
	"math"
	"testing"
)

// An update that is not Adam's on the gradient that it had is found, as is one that should have been skipped.
func TestUpdatesAreComparedWithAdamsRule(t *testing.T) {
	gradient := []float32{0.5, -2, 1e-3, 0}
	for name, c := range map[string]struct {
		gradient []float32
		change   func(w []float32)
		ok       bool
	}{
		"right":               {gradient, func([]float32) {}, true},
		"one of a wrong sign": {gradient, func(w []float32) { w[1] -= 2 * adamRate }, false},
		"a tenth too long":    {gradient, func(w []float32) { w[0] -= 0.1 * adamRate }, false},
		"moved by weightless": {gradient, func(w []float32) { w[3] += 0.01 * adamRate }, false},
		"not a number":        {gradient, func(w []float32) { w[2] = float32(math.NaN()) }, false},
		"skipped":             {nil, func(w []float32) { copy(w, []float32{1, 2, 3, 4}) }, true},
		"not skipped":         {nil, func(w []float32) { copy(w, []float32{1, 2 + 1e-6, 3, 4}) }, false},
	} {
		u := update{before: []float32{1, 2, 3, 4}, first: make([]float64, 4), second: make([]float64, 4), worst: math.Inf(-1)}
		after := []float32{1 - adamRate, 2 + adamRate, 3 - adamRate, 4} // the first step is the rate, by the gradient's sign
		c.change(after)
		u.follow(c.gradient, after, 1)
		if ok := u.worst <= u.bound; ok != c.ok {
			t.Errorf("%s: %g apart, %g allowed", name, u.worst, u.bound)
		}
	}
}
