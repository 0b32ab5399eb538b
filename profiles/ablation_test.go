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
	for final, want := range map[bool]string{false: "needs 3 more", true: "too few: 3 of 6 groups"} {
		r = AblationRow{Groups: 3, Final: final}
		if got := r.Verdict(); got != want {
			t.Errorf("3 groups are %q, want %q", got, want)
		}
	}
}

func TestAblatesItsSwitches(t *testing.T) {
	for key, want := range map[string]bool{"amp": true, "mask_cache": true, "threads": false, "pattern": false, "learning_rate": false, "": false} {
		if got := Ablates(key); got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
}
