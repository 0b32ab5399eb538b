package profiles

import "testing"

// A verdict's number is short, whatever its size.
func TestVerdictsNumbers(t *testing.T) {
	for share, want := range map[float64]string{0.0012: "0.1 %", 0.0598: "6.0 %", 0.12: "12 %", 0.334: "33 %", 1.128: "113 %", 0.0996: "10 %"} {
		if got := inPercent(share); got != want {
			t.Errorf("%g is %q, want %q", share, got, want)
		}
	}
	r := AblationRow{Effect: 0.6, Low: -0.1, High: 1.128, Groups: 8}
	if got := r.Verdict(); got != "no effect seen ± 113 %" {
		t.Errorf("the verdict is %q", got)
	}
}
