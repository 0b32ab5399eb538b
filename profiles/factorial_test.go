package profiles

import (
	"math"
	"strings"
	"testing"

	"prismtop/profiles/settings"
)

// The verdict says whether one may multiply, from the interval of measured over product, and how many
// interactions there are all the same.
func TestFactorialVerdicts(t *testing.T) {
	inf := math.Inf(1)
	noise, beyond := Ratio{0.01, -0.02, 0.03}, Ratio{0.1, 0.05, 0.2}
	for _, tt := range []struct {
		excess, pair Ratio
		want         string
		conclusion   Multiplies
	}{
		{Ratio{0.01, -0.02, 0.04}, noise, "one may multiply the single speed-ups: the product says 2.00x, measured 1.60x [1.50,1.75]", MultipliesWell},
		{Ratio{0.02, 0.01, 0.03}, beyond, "one may multiply all of the single speed-ups, although 1 interaction is beyond noise: the product", MultipliesWell},
		{Ratio{0.25, 0.2, 0.3}, beyond, "one may not multiply the single speed-ups: the product says 2.00x, measured 1.60x", MultipliesNot},
		{Ratio{-0.25, -0.3, -0.2}, beyond, "one may not multiply", MultipliesNot},
		{Ratio{0.03, 0.01, 0.06}, beyond, "one may not multiply", MultipliesNot},
		{Ratio{0.1, -0.12, 0.3}, noise, "whether one may multiply is not decided: the product says 2.00x, measured 1.60x [1.50,1.75], up to 30 % apart", MultipliesOpen},
		{Ratio{0.1, -0.12, 0.3}, beyond, "one may not multiply all of them: 1 interaction is beyond noise. Of everything on, the product", MultipliesOpen},
		{Ratio{0.1, -inf, inf}, Ratio{0.1, -inf, inf}, "intervals after 4 more", MultipliesUnknown},
	} {
		f := Factorial{Factors: make([]settings.Factor, 2), Rounds: 5, Needed: 9, Final: tt.conclusion != MultipliesUnknown, Excess: tt.excess, Product: Ratio{Effect: -0.5},
			Whole: Ratio{1/1.6 - 1, 1/1.75 - 1, 1/1.5 - 1}, Interactions: []Interaction{{[]int{0, 1}, tt.pair}}}
		if got := f.Verdict(); !strings.HasPrefix(got, tt.want) || f.Multiplies() != tt.conclusion {
			t.Errorf("%+v: %q, want %q", tt.excess, got, tt.want)
		}
		if f.Final = false; tt.conclusion != MultipliesUnknown && !strings.HasPrefix(f.Verdict(), "so far, the product says") {
			t.Errorf("before the end: %q", f.Verdict())
		}
		if f.Final = true; tt.conclusion == MultipliesUnknown && f.Verdict() != "too few rounds: 5 of 9" {
			t.Errorf("ended: %q", f.Verdict())
		}
	}
}

// Interactions and combinations are named after their settings.
func TestFactorialNames(t *testing.T) {
	f := Factorial{Factors: []settings.Factor{{Name: "caches", On: []settings.Assignment{{Key: "fft_cache", Value: "true"}}}, {Name: "amp=bf16"}, {Name: "pruned_fft"}},
		Interactions: []Interaction{{Of: []int{0, 1}}, {Of: []int{0, 1, 2}}}}
	if got := f.InteractionName(1); got != "caches × amp=bf16 × pruned_fft" {
		t.Errorf("%q", got)
	}
	for on, want := range map[int]string{0: "none", 1: "caches", 6: "amp=bf16, pruned_fft", 7: "everything"} {
		if got := f.Combination(on); got != want {
			t.Errorf("combination %d is %q, want %q", on, got, want)
		}
	}
	if !f.Switches("fft_cache") || f.Switches("caches") || f.Pairs() != 3 {
		t.Errorf("switches, %d pairs", f.Pairs())
	}
}
