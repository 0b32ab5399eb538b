package compare

import "testing"

// A difference that is not 0 does not look like it.
func TestSmallDifferencesAreVisible(t *testing.T) {
	for raw, want := range map[float64]string{0: "+0.0 %", 4e-5: "+0.004 %", -0.00049: "−0.05 %", 0.0031: "+0.3 %", 0.31: "+31 %"} {
		r := Row{Against: []Difference{{Raw: raw}}}
		if got := r.Change(0); got != want {
			t.Errorf("%g is %q, want %q", raw, got, want)
		}
	}
}
