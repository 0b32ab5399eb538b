package experiment

import (
	"math"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// script is a schedule that has chosen the settings that it began with.
type script struct {
	records int
	quality float64
	ended   string
	faulty  bool
}

func (s *script) Done() bool { return s.ended != "" }
func (s *script) End(why string) {
	if s.ended == "" {
		s.ended = why
	}
}
func (s *script) Wanted() settings.Values {
	if s.faulty {
		panic("no settings")
	}
	return settings.Values{}
}
func (s *script) Add(*profiles.Iteration) bool            { s.records++; return s.records == 2 }
func (s *script) Look(quality float64, _ profiles.Memory) { s.quality = quality }
func (s *script) View() *profiles.Ablation {
	if s.faulty {
		panic("no table")
	}
	return &profiles.Ablation{Running: !s.Done(), Ended: s.ended, Done: s.records, Rows: make([]profiles.AblationRow, 1), Tuning: &profiles.Tuning{Chosen: 16}}
}
func (s *script) Chosen() (settings.Values, bool) { return settings.Values{}, true }

// begun is a comparison under way, which adopts its choice if asked to.
func begun(t *testing.T, adopts bool) (*Comparison, *script) {
	t.Helper()
	s := &script{}
	c := Compare(settings.Values{}, "", func() Schedule { return s })
	if adopts {
		c.adopts = func(v settings.Values) Choice { return Choice{Settings: v, Name: "16"} }
	}
	if table, err := c.Begin(); err != nil || !table.Running {
		t.Fatalf("%+v, %v", table, err)
	}
	return c, s
}

func TestAComparisonPassesWhatItsScheduleAsksFor(t *testing.T) {
	c, s := begun(t, false)
	for i := range 2 {
		if _, err := c.Next(); err != nil {
			t.Fatal(err)
		}
		if look, err := c.Take(&profiles.Iteration{}); err != nil || look != (i == 1) {
			t.Errorf("iteration %d: look %v, %v", i, look, err)
		}
	}
	if table, err := c.Look(math.Pi, profiles.Memory{}); err != nil || table.Done != 2 || s.quality != math.Pi {
		t.Errorf("%+v, quality %g, %v", table, s.quality, err)
	}
	if c.Done() {
		t.Error("done before its end")
	}
	if last := c.Leave("it was stopped"); last.Ended != "it was stopped" || last.Tuning.Chosen != 16 || !c.Done() {
		t.Errorf("%+v", last)
	}
}

func TestAChoiceIsAdoptedOnlyByConclude(t *testing.T) {
	c, _ := begun(t, true)
	if last := c.Leave("radius was changed"); last.Tuning.Chosen != 0 || last.Ended != "radius was changed; not adopted: radius was changed" {
		t.Errorf("left: %+v", last)
	}
	c, _ = begun(t, true)
	if last, choice, chose := c.Conclude("over"); !chose || choice.Name != "16" || last.Tuning.Chosen != 16 || last.Ended != "over" {
		t.Errorf("concluded: %+v, %+v", last, choice)
	}
}

// A schedule that panics leaves the newest table, final and with its rows.
func TestAPanicLeavesTheNewestTable(t *testing.T) {
	c, s := begun(t, false)
	s.faulty = true
	_, err := c.Next()
	if err == nil || !strings.Contains(err.Error(), "it panicked: no settings") {
		t.Fatal(err)
	}
	last := c.Leave(err.Error())
	if last.Running || len(last.Rows) != 1 || !last.Rows[0].Final || last.Now != -1 || !strings.HasPrefix(last.Ended, "it panicked") {
		t.Errorf("%+v", last)
	}
}
