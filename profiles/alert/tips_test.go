package alert

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

// Keys belong to the screen: without one, every sentence is whole, and none names a key.
func TestTipsNameActionsAndNoKeys(t *testing.T) {
	schema := prism.Schema()
	key := regexp.MustCompile(`\((\S|ctrl.\S)\)|ctrl\+`)
	for i := range tips {
		prefix, _, _ := strings.Cut(string(tips[i]), "%")
		if !slices.ContainsFunc(Tips(&schema), func(a profiles.Advice) bool { return strings.HasPrefix(string(a), prefix) }) {
			t.Errorf("tip %d is missing: %q", i, prefix)
		}
	}
	seen := map[profiles.Advice]bool{}
	for _, tip := range Tips(&schema) {
		if text := tip.Text(nil); !strings.HasSuffix(text, ".") || strings.ContainsAny(text, "{}|") || seen[tip] {
			t.Errorf("%q is no sentence of its own: %q", tip, text)
		}
		if found := key.FindString(string(tip)); found != "" {
			t.Errorf("%q names the key %s", tip, found)
		}
		seen[tip] = true
		for _, action := range tip.Actions() {
			verb, of, _ := strings.Cut(string(action), " ")
			if _, known := prism.Table.Lookup(of); of != "" && verb != "view" && !known {
				t.Errorf("%q: %s is no setting", tip, of)
			}
		}
	}
}

// What a rule is about stands in its sentence.
func TestTipsAreAboutSomething(t *testing.T) {
	for _, c := range []struct {
		advice profiles.Advice
		want   string
	}{
		{switchOff.of("mask_cache"), "Switch it off {switch mask_cache}."},
		{enlargeOrSwitchOff.of(256, "measurement_cache_mb", "measurement_cache"), "Give it more than 256 MiB {set measurement_cache_mb}, or switch it off {switch measurement_cache}."},
		{seeHeat.of(2.6), "No setting changed just before, and other programs took 3 % of the processors only: see whether the processor is throttled by heat."},
	} {
		if got := c.advice; string(got) != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Where a workload has no tip for a rule, there is one in general words.
func TestRulesHaveTipsForEveryWorkload(t *testing.T) {
	f := &Facts{Schema: &profiles.Schema{}}
	if got := f.tipFor(notFinite, otherSettings); got != "Restart {restart} with other settings." {
		t.Errorf("%q", got)
	}
	f.Schema = &profiles.Schema{Tips: []profiles.AlertAdvice{
		{Alert: overflow, Try: "Other."},
		{Alert: notFinite, When: profiles.When{Setting: "amp", Value: "fp16"}, Try: "Under fp16."},
		{Alert: notFinite, Try: "Own."},
	}}
	if got := f.tipFor(notFinite, otherSettings); got != "Own." {
		t.Errorf("%q", got)
	}
}
