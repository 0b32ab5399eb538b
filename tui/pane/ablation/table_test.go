package ablation

import (
	"strings"
	"testing"

	"prismtop/profiles"
)

func TestTheAblationsFootTellsOfOthers(t *testing.T) {
	a := &profiles.Ablation{Running: true, Groups: 88, Foreign: 0.35, ForeignKnown: true, Work: "later samples"}
	if got, want := progressOf(a, "A"), "A stops · others took 35 % of the processors · later samples"; !strings.HasSuffix(got, want) {
		t.Errorf("%q", got)
	}
	for _, quiet := range []profiles.Ablation{{Foreign: 0.05, ForeignKnown: true}, {Foreign: 0.5}} {
		if got := progressOf(&quiet, "A"); strings.Contains(got, "others") {
			t.Errorf("%+v: %q", quiet, got)
		}
	}
}
