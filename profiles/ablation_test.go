package profiles

import (
	"math"
	"testing"
)

// A verdict and its interval have one sign, and a note does not replace the verdict.
func TestAVerdictAndItsIntervalHaveOneSign(t *testing.T) {
	for want, r := range map[string]AblationRow{
		"saves 11 % [6, 39]":              {Effect: -0.112, Low: -0.394, High: -0.064},
		"costs 7 % [2, 20]":               {Effect: 0.07, Low: 0.019, High: 0.2},
		"equal within 1.0 % [−0.2, +0.4]": {Effect: 0.001, Low: -0.002, High: 0.004},
		"undecided (± 8.0 %)":             {Effect: 0.01, Low: -0.06, High: 0.08},
		"saves 1.2 % [0.8, 1.6]":          {Effect: -0.012, Low: -0.016, High: -0.008},
	} {
		r.Groups, r.Final = 8, true
		if got := r.Bounded(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		verdict := r.Verdict()
		if r.Note = "asked once"; r.Conclusion() != verdict+"; asked once" {
			t.Errorf("with a note: %q", r.Conclusion())
		}
	}
}

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

// A gain in quality is a number only where its interval excludes 0.
func TestAGainIsJudgedByItsInterval(t *testing.T) {
	for want, r := range map[string]AblationRow{
		"−0.82":  {Quality: -0.82, QualityLow: -0.9, QualityHigh: -0.7, QualityGroups: 8},
		"+0.00":  {QualityGroups: 8},
		"± 0.14": {Quality: 0.02, QualityLow: -0.11, QualityHigh: 0.14, QualityGroups: 14},
		"–":      {Quality: 11.94, QualityLow: math.Inf(-1), QualityHigh: math.Inf(1), QualityGroups: 3},
	} {
		if got := r.Gained(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := new(AblationRow).Gained(); got != "–" {
		t.Errorf("without groups %q", got)
	}
}
