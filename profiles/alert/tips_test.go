package alert

import (
	"regexp"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/sim/prism"
)

// Keys belong to the screen: without one, every sentence is whole, and none names a key.
func TestTipsNameActionsAndNoKeys(t *testing.T) {
	schema := profilestest.Schema()
	key := regexp.MustCompile(`\((\S|ctrl.\S)\)|ctrl\+`)
	tips := Tips(&schema)
	if want := int(numTips) + 2*(len(schema.Caches)-1); len(tips) != want {
		t.Errorf("%d tips, want %d", len(tips), want)
	}
	seen := map[profiles.Advice]bool{}
	for _, tip := range tips {
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
		advice advice
		want   string
	}{
		{switchOff.of("mask_cache"), "Switch it off {switch mask_cache}."},
		{enlargeOrSwitchOff.of(256), "Give it more than 256 MiB {set measurement_cache_mb}, or switch it off {switch measurement_cache}."},
		{seeHeat.of(2.6), "No setting changed just before, and other programs took 3 % of the processors only: see whether the processor is throttled by heat."},
	} {
		if got := c.advice.sentence(); string(got) != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
