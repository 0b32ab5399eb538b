package compare

import (
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

func TestStretchesAreRead(t *testing.T) {
	for text, want := range map[string]Stretch{
		"1:30..2:45":          {from: moment{atClock, 90e9}, to: moment{atClock, 165e9}},
		"1:30-2:45":           {from: moment{atClock, 90e9}, to: moment{atClock, 165e9}},
		"1:00:00.5..":         {from: moment{atClock, 3600.5e9}},
		"..90s":               {to: moment{atClock, 90e9}},
		"change3..":           {from: moment{atChange, 3}},
		"change3":             {from: moment{atChange, 3}, to: moment{atChange, 4}},
		"..change1":           {to: moment{atChange, 1}},
		"iteration500..1m30s": {from: moment{atIteration, 500}, to: moment{atClock, 90e9}},
		"start2":              {start: 2},
		"start2/change1":      {start: 2, from: moment{atChange, 1}, to: moment{atChange, 2}},
	} {
		want.text = text
		if got, err := ParseStretch(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "..", "-", "1:30", "90s", "iteration5", "change0..", "start0", "startx", "2:00..1:00", "change3..change3", "change", "-5s..", "1:2:3:4..", "a..b"} {
		if s, err := ParseStretch(text); err == nil {
			t.Errorf("%q was read as %+v", text, s)
		} else if err != nil && !strings.Contains(err.Error(), "must") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAnArgumentMayHaveAnAtSign(t *testing.T) {
	exists := func(name string) bool { return name == "a@b" }
	if name, s, err := ParseArgument("a@b", exists); name != "a@b" || s != (Stretch{}) || err != nil {
		t.Errorf("%q, %+v, %v", name, s, err)
	}
	if name, s, err := ParseArgument("a@b@change1", exists); name != "a@b" || s.text != "change1" || err != nil {
		t.Errorf("%q, %+v, %v", name, s, err)
	}
	if _, _, err := ParseArgument("a@1:30", exists); err == nil || !strings.Contains(err.Error(), `"a@1:30"`) {
		t.Errorf("%v", err)
	}
}

func FuzzStretch(f *testing.F) {
	f.Add("start2/1:30..change3")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseStretch(text); err == nil && s.String() != text {
			t.Errorf("%q is shown as %q", text, s.String())
		}
	})
}

// A stretch has the iterations between its ends, and those only.
func TestAStretchHasItsIterations(t *testing.T) {
	m := simulation{seed: 5, iterations: 4000, change: 2500}
	for stretch, want := range map[string]int64{
		"": 4000, "..change1": 2500, "change1": 1500, "change1..": 1500, "iteration100..iteration300": 200, "iteration3900..": 100, "start1": 4000,
	} {
		if s := m.sample(t, "run", stretch); s.run.Iterations != want {
			t.Errorf("%q has %d iterations, want %d", stretch, s.run.Iterations, want)
		}
	}
	half := m.sample(t, "run", "10s..20s")
	if s := half.run.Seconds; s < 9.9 || s > 10.1 { // an iteration takes 8 ms or so
		t.Errorf("10s..20s has %.3f seconds", s)
	}
	for stretch, want := range map[string]string{"change2..": "and 1 change by the user", "start3": "the run has 1 start"} {
		s, err := ParseStretch(stretch)
		if err != nil {
			t.Fatal(err)
		}
		sample := NewSample(Run{}, s, 0)
		m.play(sample.Take)
		if err := sample.End(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", stretch, err, want)
		}
	}
}

// Of a run that was started again the last start is gathered, alone. Its iterations count from the run's first
// if it was resumed.
func TestTheLastStartIsGatheredAlone(t *testing.T) {
	m := simulation{seed: 5, iterations: 4000}
	once := m.sample(t, "run", "")
	for _, resumed := range []int64{0, 3000} {
		s := NewSample(Run{}, Stretch{}, 0)
		m.play(s.Take)
		m.play(func(e *profiles.Event) {
			if it, ok := e.Body.(*profiles.Iteration); ok {
				it.Index += resumed
			}
			s.Take(e)
		})
		if err := s.End(); err != nil {
			t.Fatal(err)
		}
		if s.run.Iterations != 4000 || s.run.LeftOut != once.run.LeftOut || s.run.Seconds != once.run.Seconds || s.reached() != 4000+resumed {
			t.Errorf("resumed after %d: %d iterations in %g s, %+v, up to %d; without another start before %g s, %+v",
				resumed, s.run.Iterations, s.run.Seconds, s.run.LeftOut, s.reached(), once.run.Seconds, once.run.LeftOut)
		}
	}
}

// A recording whose numbers make no sense is gathered without a panic.
func TestSenselessRecordsAreLeftOut(t *testing.T) {
	schema := simulatedSchema()
	for range 20 {
		schema.Phases, schema.Series = append(schema.Phases, profiles.PhaseInfo{Name: "more"}), append(schema.Series, profiles.SeriesInfo{Name: "more", Each: true})
		schema.Caches, schema.Memory = append(schema.Caches, profiles.CacheInfo{Name: "more"}), append(schema.Memory, profiles.MemoryInfo{Name: "more"})
	}
	sample := func() *Sample {
		s := NewSample(Run{}, Stretch{}, 0)
		s.Take(&profiles.Event{Body: &profiles.Iteration{}}) // before the run began
		s.Take(&profiles.Event{At: time.Unix(1, 0), Body: &profiles.Begin{Info: profiles.RunInfo{Schema: schema}}})
		for i := range int64(4000) {
			s.Take(&profiles.Event{Body: &profiles.Iteration{Index: i * i * i, Kind: profiles.Kind(i % 3), Start: i * i, Total: -i}})
			s.Take(&profiles.Event{Body: &profiles.Measurement{Iteration: -i}})
			s.Take(&profiles.Event{Body: &profiles.Memory{}})
		}
		if err := s.End(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if _, err := Compare([]string{"A", "B"}, [][]*Sample{{sample()}, {sample()}}, quiet); err != nil {
		t.Error(err)
	}
}

// Two parts of one run, before a change and after it, have the change as the setting that differs; of a
// whole run, the settings in force longest are compared.
func TestTheSettingsOfAStretchAreCompared(t *testing.T) {
	m := simulation{seed: 5, iterations: 4000, change: 2500}
	c, err := Compare([]string{"A", "B"}, [][]*Sample{{m.sample(t, "A", "..change1")}, {m.sample(t, "B", "change1")}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Settings) != 1 || c.Settings[0].Key != "rate" || c.Settings[0].Values[0] != "0" || c.Settings[0].Values[1] != "0.5" {
		t.Errorf("settings %+v", c.Settings)
	}
	m.iterations = 2520 // too few after the change for a block
	c, err = Compare([]string{"A", "B"}, [][]*Sample{{m.sample(t, "A", "..change1")}, {m.sample(t, "B", "change1")}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if c.Sides[1].Runs[0].Blocks != 0 || len(c.Settings) != 1 || c.Settings[0].Values[1] != "0.5" {
		t.Errorf("without a block: %+v, settings %+v", c.Sides[1].Runs[0], c.Settings)
	}
	m.iterations = 4000
	c = compared(t, m, simulation{seed: 6, iterations: 4000})
	left := c.Sides[0].Runs[0].LeftOut
	if len(c.Settings) != 0 || left.Settings < 1000 || left.Settings > 1500 || len(c.Warnings) == 0 || c.Warnings[0].About != "changes" {
		t.Errorf("settings %+v, left out %+v, warnings %+v", c.Settings, left, c.Warnings)
	}
}

// A limit that a run was resumed with, or that changed during it, is the one that differs: it makes no difference to an iteration,
// so that no part of the run is left out for it.
func TestALimitIsThatAtTheEnd(t *testing.T) {
	m := simulation{seed: 5, iterations: 4000}
	limited := func(limit string) *Sample {
		s := NewSample(Run{Name: "run"}, Stretch{}, 0)
		m.play(func(e *profiles.Event) {
			s.Take(e)
			if b, ok := e.Body.(*profiles.Begin); ok {
				v, err := b.Settings.Set(settings.MaxIterations, limit)
				if err != nil {
					t.Fatal(err)
				}
				s.Take(&profiles.Event{At: e.At, Body: &profiles.Changed{Settings: v, Change: profiles.Change{Key: settings.MaxIterations}}})
			}
		})
		if err := s.End(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	c, err := Compare([]string{"A", "B"}, [][]*Sample{{m.sample(t, "A", "")}, {limited("4000")}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Settings) != 1 || !c.Settings[0].Limit || c.Settings[0].Values[0] != "0" || c.Settings[0].Values[1] != "4000" || c.Sides[1].Runs[0].LeftOut.Settings != 0 {
		t.Errorf("settings %+v, left out %+v", c.Settings, c.Sides[1].Runs[0].LeftOut)
	}
}

// Of a run of several starts it is said which one is compared, unless the stretch names it.
func TestTheComparedPartIsNamed(t *testing.T) {
	for _, c := range []struct {
		stretch string
		starts  int
		resumed int64
		want    string
	}{
		{"", 1, 0, ""}, {"start2", 2, 0, ""}, {"start1", 2, 40, ""},
		{"", 3, 0, "was restarted: compared is its newest start; @start2 names the one before"},
		{"change1..", 1, 40, "was resumed after 40 iterations: compared is its part since then"},
		{"", 2, 1, "was resumed after 1 iteration: compared is its part since then; @start1 names the one before"},
	} {
		var stretch Stretch
		if c.stretch != "" {
			var err error
			if stretch, err = ParseStretch(c.stretch); err != nil {
				t.Fatal(err)
			}
		}
		s := NewSample(Run{}, stretch, 0)
		for range c.starts {
			s.Take(&profiles.Event{At: time.Unix(1, 0), Body: &profiles.Begin{Info: profiles.RunInfo{Resumed: c.resumed}}})
		}
		if got := s.part(); got != c.want {
			t.Errorf("%q of %d starts, resumed after %d: %q", c.stretch, c.starts, c.resumed, got)
		}
	}
}
