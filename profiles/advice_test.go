package profiles

import (
	"slices"
	"testing"
)

func TestAdviceNamesTheKeysOfItsActions(t *testing.T) {
	keys := map[Action]string{"lower learning_rate": "l", "restart": "R", "ablate": "A", "raise iterations": "]"}
	for _, c := range []struct {
		advice        Advice
		with, without string
		actions       []Action
	}{
		{"See whether the machine swaps.", "See whether the machine swaps.", "See whether the machine swaps.", nil},
		{"Halve the learning rate {lower learning_rate} and restart {restart}.", "Halve the learning rate (l) and restart (R).",
			"Halve the learning rate and restart.", []Action{"lower learning_rate", "restart"}},
		{"Wait; {ablate|an ablation} compares settings.", "Wait; A compares settings.", "Wait; an ablation compares settings.", []Action{"ablate"}},
		{"{ablate|An ablation} compares.", "A compares.", "An ablation compares.", []Action{"ablate"}},
		{"Allow more {raise iterations}, or sing {sing}", "Allow more (]), or sing", "Allow more, or sing", []Action{"raise iterations", "sing"}},
		{"An open { stays", "An open { stays", "An open { stays", nil},
		{"", "", "", nil},
	} {
		if got := c.advice.Text(func(a Action) string { return keys[a] }); got != c.with {
			t.Errorf("with keys %q, want %q", got, c.with)
		}
		if got := c.advice.Text(nil); got != c.without {
			t.Errorf("without keys %q, want %q", got, c.without)
		}
		if got := c.advice.Actions(); !slices.Equal(got, c.actions) {
			t.Errorf("%q names %q, want %q", c.advice, got, c.actions)
		}
	}
}
