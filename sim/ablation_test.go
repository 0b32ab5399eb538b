package sim

import (
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/sim/ablation"
)

// brief is an ablation of two settings that takes a second or two.
var brief = ablation.Options{Rounds: 6, Least: 4, Time: time.Millisecond, Only: []string{"checkpointing", "amp", "fft_cache"}}

// ablating is a run with an ablation under way that has switched something.
func ablating(t *testing.T, o ablation.Options, sets ...string) (*Run, *profiles.Aggregator, preset.Settings) {
	t.Helper()
	s := settings(t, append(append(small, "samples=60", "threshold=0", "iterations=1000000", "init_iterations=0", "amp=bf16x3"), sets...)...)
	r, a := start(t, Options{Settings: s, Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	if err := r.ablate(o); err != nil {
		t.Fatal(err)
	}
	until(t, a, "another value", func(s *profiles.Snapshot) bool { return s.Settings.AMP != "bf16x3" })
	return r, a, s
}

// Whichever way an ablation ends, the settings are what they were, and the table
// says why it ended.
func TestAnAblationReturnsToTheSettings(t *testing.T) {
	long := ablation.Options{Rounds: 1000, Least: 4, Time: time.Millisecond, Only: brief.Only}
	for _, tt := range []struct {
		name, why string
		options   ablation.Options
		sets      []string
		end       func(*testing.T, *Run)
		changed   map[string]string
	}{
		{name: "complete", why: "complete", options: brief, end: func(*testing.T, *Run) {}},
		{name: "stopped by the user", why: "it was stopped", options: long, end: func(_ *testing.T, r *Run) { r.StopAblation() }},
		{name: "restarted", why: "the run was restarted", options: long, end: func(_ *testing.T, r *Run) { r.Restart() }},
		{name: "a setting was changed", why: "threads was changed", options: long, changed: map[string]string{"threads": "1"},
			end: func(t *testing.T, r *Run) {
				if err := r.Set("threads", "1"); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "stopped while paused", why: "it was stopped", options: long,
			end: func(_ *testing.T, r *Run) { r.Pause(true); r.StopAblation() }},
		{name: "the run is over", why: "the run is over", options: long, sets: []string{"max_iterations=300"}, end: func(*testing.T, *Run) {}},
		{name: "the run was stopped", why: "the run was stopped", options: long, end: func(_ *testing.T, r *Run) { r.Stop() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, a, before := ablating(t, tt.options, tt.sets...)
			tt.end(t, r)
			until(t, a, "its end", func(s *profiles.Snapshot) bool { return s.Ablation != nil && !s.Ablation.Running })
			s := until(t, a, "the settings", func(s *profiles.Snapshot) bool { return s.Settings.AMP == "bf16x3" })
			if s.Ablation.Ended != tt.why {
				t.Errorf("ended: %q, want %q", s.Ablation.Ended, tt.why)
			}
			for _, k := range preset.Keys() {
				want := before.Get(k.Name)
				if v, ok := tt.changed[k.Name]; ok {
					want = v
					s = until(t, a, k.Name, func(s *profiles.Snapshot) bool { return s.Settings.Get(k.Name) == want })
				}
				if got := s.Settings.Get(k.Name); got != want {
					t.Errorf("%s is %s, was %s", k.Name, got, want)
				}
			}
			for _, c := range s.Changes {
				if _, ok := tt.changed[c.Key]; !ok {
					t.Errorf("a change of the ablation is listed as the user's: %+v", c)
				}
			}
		})
	}
}

func TestACompleteAblationFillsItsTable(t *testing.T) {
	_, a, _ := ablating(t, brief)
	s := until(t, a, "its end", func(s *profiles.Snapshot) bool { return s.Ablation != nil && !s.Ablation.Running })
	if v := s.Ablation; v.Done != v.Groups || len(v.Rows) != 5 || v.Work != "first sample" {
		t.Fatalf("%d of %d groups of %d rows, %q", v.Done, v.Groups, len(v.Rows), v.Work)
	}
	for _, r := range s.Ablation.Rows {
		if r.Groups != brief.Rounds || !(r.OffNS > 0 && r.OnNS > 0) || r.Low > r.Effect || r.High < r.Effect || !r.HasMemory || r.QualityGroups != r.Groups {
			t.Errorf("%+v", r)
		}
		if r.Key == "checkpointing" && r.OnBytes >= r.OffBytes {
			t.Errorf("checkpointing takes %d bytes, none %d", r.OnBytes, r.OffBytes)
		}
	}
	said := ""
	for _, l := range s.Log {
		said += l.Text + "\n"
	}
	if !strings.Contains(said, "ablation ended: complete; the settings are as before") {
		t.Errorf("the log says %q", said)
	}
}

func TestAnAblationOfARunThatIsOverIsRefused(t *testing.T) {
	r, a := start(t, Options{Settings: settings(t, append(small, "max_iterations=5")...), Linger: true})
	until(t, a, "the end", func(s *profiles.Snapshot) bool { return s.State == profiles.Finished })
	if err := r.StartAblation(); err == nil || !strings.Contains(err.Error(), "restart") {
		t.Errorf("error %v", err)
	}
}
