package profiles

import "testing"

// A verdict's number is short, whatever its size.
func TestVerdictsNumbers(t *testing.T) {
	r := AblationRow{Effect: 0.6, Low: -0.1, High: 1.128, Groups: 8, Final: true}
	if got := r.Verdict(); got != "undecided (± 113 %)" {
		t.Errorf("the verdict is %q", got)
	}
	for final, want := range map[bool]string{false: "so far", true: "saves 20 %"} { // more groups may follow
		r = AblationRow{Effect: -0.204, Low: -0.297, High: -0.086, Groups: 8, Final: final}
		if got := r.Verdict(); got != want {
			t.Errorf("8 groups are %q, want %q", got, want)
		}
	}
	for final, want := range map[bool]string{false: "needs 3 more", true: "too few: 3 of 6 groups"} {
		r = AblationRow{Groups: 3, Final: final}
		if got := r.Verdict(); got != want {
			t.Errorf("3 groups are %q, want %q", got, want)
		}
	}
}
