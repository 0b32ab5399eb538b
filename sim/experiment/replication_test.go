package experiment

import (
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// A press is decided in ten seconds, where iterations are slow in what a first look takes, which is said; where nobody
// would wait for that, it is not.
func TestADecisionTakesWhatItsFirstLookNeeds(t *testing.T) {
	table := settings.NewTable("test", nil, settings.Switch("", "fast", "").Live().Revertible(), settings.Deciding(""))
	before, err := table.Zero().With(settings.Assignment{Key: settings.Decide, Value: settings.DecideAuto})
	if err != nil {
		t.Fatal(err)
	}
	after, err := before.With(settings.Assignment{Key: "fast", Value: "true"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		iteration, within time.Duration
		said              string
	}{
		{0, 10 * time.Second, ""},
		{5 * time.Millisecond, 10 * time.Second, ""},
		{200 * time.Millisecond, 36 * time.Second, "fast: deciding takes up to 36 s, because an iteration takes 200 ms"},
		{500 * time.Millisecond, 90 * time.Second, "fast: deciding takes up to 90 s, because an iteration takes 500 ms"},
		{501 * time.Millisecond, 0, ""},
	} {
		d := NewDecision(&profiles.Schema{}, Press{Before: before, After: after, Iteration: tt.iteration}, 7)
		if tt.within == 0 {
			if d != nil {
				t.Errorf("iterations of %s: decided", tt.iteration)
			}
			continue
		}
		began, err := d.Begin()
		if err != nil || began.Within != tt.within || d.Began() != tt.said || !began.Decides() {
			t.Errorf("iterations of %s: within %s, %q, %v", tt.iteration, began.Within, d.Began(), err)
		}
	}
}
