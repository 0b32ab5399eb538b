package screen

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/alert"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
)

// The screen has a key for every action that the rules advise.
func TestEveryAdvisedActionHasAKey(t *testing.T) {
	schema, keys := prism.Schema(), bindingsOf(prism.Table, everyKind(), nil)
	for _, tip := range alert.Tips(&schema) {
		for _, action := range tip.Actions() {
			if keys.Of(action) == "" {
				t.Errorf("no key for %q, which is advised: %q", action, tip)
			}
		}
	}
	if keys.Of("") != "" || keys.Of("sing") != "" {
		t.Error("what is no action has a key")
	}
}

// The advice as shown on the screen.
func TestAdviceIsShownWithItsKeys(t *testing.T) {
	want := []string{
		"Switch AMP off (a) or to bf16 (.), whose range is that of fp32, and restart (R).",
		"Halve the learning rate (l) and restart (R).",
		"Switch AMP to bf16 (.), which has the range of fp32 and needs no scale, or halve the learning rate (l).",
		"Halve the learning rate (l) where the loss jumps about; else allow more iterations (]) or raise the threshold (T).",
		"Restart (R) with other settings.",
		"See whether the machine swaps, was suspended, or gives its cores to other processes; ctrl+c ends the run.",
		"Allow more iterations, or a higher threshold.",
		"The memory pane's timeline (v) shows since when; save (s) before memory runs out, and report it with the settings.",
		"No setting changed just before: end what else computes here (top shows it), or wait; A compares settings all the same.",
		"No setting changed just before: see whether other processes use the cores or the processor is throttled by heat.",
		"The run goes on, and what was recorded before can be replayed; the next start of prismtop with --record FILE records elsewhere.",
		"The run goes on; --record FILE records to another disk, --no-record not at all.",
		"Save (s) before memory runs out; with a smaller size, smaller caches or recomputed activations, a restart (R) needs less.",
		"A start with --max-time, or with fewer iterations, ends sooner; ctrl+c ends this one.",
		"prismtop doctor --gpu, by a new process, checks the GPU; this process cannot use it again.",
		"Save the result (s) and end the run by ctrl+c, or try other settings: the quality chart shows since when it stands.",
		"No setting changed just before, and other programs took 0 % of the processors only: see whether the processor is throttled by heat.",
		"Give it more than 0 MiB (G), or switch it off (m).",
		"Switch it off (m).", "Switch it off (m) and compare.",
		"Each sample looks up entries of its own once, so it cannot hit: switch it off (m), or the pattern to remeasure (p).",
		"Each sample looks up entries of its own once a pass, so it hits from the second pass on at most: switch it off (m), or the pattern to remeasure (p).",
		"Switch it off (f).", "Switch it off (f) and compare.",
		"Switch it off (g).", "Switch it off (g) and compare.",
	}
	schema := prism.Schema()
	var got []string
	for _, tip := range alert.Tips(&schema) {
		got = append(got, bindingsOf(prism.Table, everyKind(), nil).Say(tip))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What was measured here of a mode stands in the list of values in place of its description, and on the page of keys;
// what was not is said there, and nothing at all of a run that may be another machine's.
func TestMeasuredAdviceIsQuoted(t *testing.T) {
	profilestest.OneGoroutine(t)
	measured := profiles.Caution{When: profiles.When{Setting: "amp", Value: "bf16"}, Text: "measured here 2026-11-22: iterations 41 % longer"}
	not := profiles.Caution{When: profiles.When{Setting: "amp"}, Text: "not measured here at 512/128 with these settings"}
	for _, tt := range []struct {
		said         []profiles.Caution
		list, page   string
		absent, also string
	}{
		{[]profiles.Caution{measured}, "bf16        measured here 2026-11-22: iterations 41 % longer", "AMP bf16 measured here 2026-11-22", "the range of float32", "nearly float32's accuracy"},
		{[]profiles.Caution{not}, "bf16        the range of float32", "AMP not measured here at 512/128", "measured here 2026", ""},
		{nil, "bf16        the range of float32", "", "measured here", ""},
	} {
		o := Options{}
		if tt.said != nil {
			o.Advice = func(run profiles.RunInfo, v settings.Values) []profiles.Caution {
				if run.Device != "cpu" || !v.Has("amp") {
					t.Errorf("asked about %q and %v", run.Device, v)
				}
				return tt.said
			}
		}
		m, _ := screen(t, 120, 60, o, colorprofile.ANSI256, whole(t))
		press(m, ".")
		list := seen(m)
		press(m, ".", "?")
		page := strings.Join(strings.Fields(seen(m)), " ")
		if !strings.Contains(list, tt.list) || !strings.Contains(list, tt.also) || strings.Contains(list, tt.absent) {
			t.Errorf("%v: the list is\n%s", tt.said, list)
		}
		if tt.page == "" && strings.Contains(page, "measured here") || !strings.Contains(page, tt.page) {
			t.Errorf("%v: the page is\n%s", tt.said, page)
		}
	}
}
