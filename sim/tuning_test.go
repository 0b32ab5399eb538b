package sim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/workload"
	"testing/fstest"
)

// batched is a workload whose batches take planted times: the loop counts the rest as the cost of
// measuring.
type batched struct{ v settings.Values }

var batchedTable = settings.NewTable("batched", nil,
	settings.Integer("a", settings.BatchSize, "", "size", 1, 256).Live(), settings.Switch("a", settings.AutoTune, "tuner").Live().Limit(),
	settings.Integer("a", "other", "", "another", 0, 9).Live(), settings.IterationLimit("b"))

func batchedValues(t *testing.T, sets ...string) settings.Values {
	t.Helper()
	files := fstest.MapFS{"batched.toml": {Data: []byte("description = \"x\"\nbatch_size = 2\nauto_tune = true\nother = 0\nmax_iterations = 0\n")}}
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{{Table: batchedTable, Files: files, Default: "batched"}}, Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (b *batched) Name() string                                                   { return "batched" }
func (b *batched) Load(context.Context, settings.Values) (workload.Inputs, error) { return b, nil }
func (b *batched) SameInputs(_, _ settings.Values) bool                           { return true }
func (b *batched) Reads(settings.Values) bool                                     { return false }
func (b *batched) FitsBeside(settings.Values, int64) bool                         { return true }
func (b *batched) Device() workload.Device                                        { return nil }
func (b *batched) Close()                                                         {}
func (b *batched) Apply(_ context.Context, v settings.Values) error               { b.v = v; return nil }
func (b *batched) Check(settings.Values, string) error                            { return nil }
func (b *batched) New(_ context.Context, v settings.Values, _ workload.Inputs) (workload.Task, error) {
	return &batched{v}, nil
}

func (b *batched) Info() profiles.RunInfo {
	return profiles.RunInfo{Schema: profiles.Schema{
		Workload: "batched", Unit: profiles.Unit{One: "pass", Many: "passes"}, Item: profiles.Unit{One: "image", Many: "images"},
		Stages: []string{"all"}, Kinds: []profiles.KindInfo{{Name: "batches"}}, Phases: []profiles.PhaseInfo{{Name: "work"}},
		Memory: []profiles.MemoryInfo{{Name: "activations"}, {Name: "kept", Kept: true}},
	}}
}

func (b *batched) Memory() (m profiles.Memory) {
	m.Parts[0], m.Parts[1] = int64(b.v.Int(settings.BatchSize))<<20, 1<<30
	return m
}

// Iterate takes 20 ms and 5 ms an image; from 33 images on, 10 ms an image.
func (b *batched) Iterate(_ context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	start, n := time.Now(), time.Duration(b.v.Int(settings.BatchSize))
	planted := 20*time.Millisecond + 5*time.Millisecond*n
	if n > 32 {
		planted = 10 * time.Millisecond * n
	}
	rec.Phases[0] = int64(planted)
	rec.Retimed = int64(time.Since(start) - planted)
	return workload.Outcome{}, nil
}

// From a bad start the tuner ends with the best size in force, as a change of its own, and does not
// begin again with the next change of another setting.
func TestTheTunerEndsWithTheBestSize(t *testing.T) {
	events := stream.New(1 << 14)
	r, err := sim.New(t.Context(), sim.Options{Maker: &batched{}, Settings: batchedValues(t), Stream: events})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := aggregate.New(events.Follow(), aggregate.Options{})
	var s *profiles.Snapshot
	next := func(until func() bool) {
		t.Helper()
		for range 1 << 13 {
			if _, done, err := r.Next(t.Context()); err != nil || done {
				t.Fatal(done, err)
			}
			if s = a.Tick(time.Now()); until() {
				return
			}
		}
		t.Fatalf("after %d iterations: %+v", s.Index, s.Ablation)
	}
	next(func() bool { return s.Ablation != nil && !s.Ablation.Running })
	next(func() bool { return s.Settings.Get(settings.AutoTune) == "false" })
	if got := s.Settings.Int(settings.BatchSize); got != 32 || s.Ablation.Tuning.Chosen != 32 || s.Ablation.Tuning.From != 2 {
		t.Errorf("it chose %d: %q, %+v", got, s.Ablation.Ended, s.Ablation.Tuning)
	}
	said := false
	for _, line := range s.Log {
		said = said || strings.HasPrefix(line.Text, "auto-tuner ended: takes 32")
	}
	changed := false
	for _, c := range s.Changes {
		changed = changed || c.Key == settings.BatchSize && c.Before == "2" && c.After == "32" && !c.Ablation
	}
	if !said || !changed {
		t.Errorf("the log is %v, the changes are %+v", s.Log, s.Changes)
	}
	// What it ran is there by size, with the memory of that size alone.
	for _, b := range s.Batches {
		if want := 1e9 / (20e6/float64(b.Size) + 5e6); b.Size <= 32 && (b.PerSecond < 0.9*want || b.PerSecond > 1.1*want) || b.Bytes != int64(b.Size)<<20 {
			t.Errorf("batches of %d: %g images/s, want %g, in %d bytes", b.Size, b.PerSecond, want, b.Bytes)
		}
	}
	if len(s.Batches) < 5 {
		t.Errorf("%d sizes are known: %+v", len(s.Batches), s.Batches)
	}
	if err := r.Set("other", "3"); err != nil {
		t.Fatal(err)
	}
	next(func() bool { return s.Settings.Int("other") == 3 })
	if s.Settings.Int(settings.BatchSize) != 32 || s.Ablation.Running {
		t.Errorf("after another change the settings are %v", s.Settings)
	}
	if len(s.Batches) > 1 {
		t.Errorf("times under other settings are kept: %+v", s.Batches)
	}
}

// A key overrules the tuner at any time; any other change lets it begin again from where it began.
func TestTheTunerIsOverruled(t *testing.T) {
	events := stream.New(1 << 12)
	r, err := sim.New(t.Context(), sim.Options{Maker: &batched{}, Settings: batchedValues(t), Stream: events})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := aggregate.New(events.Follow(), aggregate.Options{})
	step := func(n int) *profiles.Snapshot {
		t.Helper()
		for range n {
			if _, _, err := r.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return a.Tick(time.Now())
	}
	if s := step(9); !s.Ablation.Running || s.Ablation.Name() != "auto-tuner" {
		t.Fatalf("the tuner has not begun: %+v", s.Ablation)
	}
	if err := r.Set("other", "1"); err != nil {
		t.Fatal(err)
	}
	if s := step(9); !s.Ablation.Running || s.Settings.Int("other") != 1 || s.Ablation.Base.Int(settings.BatchSize) != 2 {
		t.Errorf("after another change: %+v", s.Ablation)
	}
	if err := r.Set(settings.BatchSize, "7"); err != nil {
		t.Fatal(err)
	}
	if s := step(3); s.Ablation.Running || s.Ablation.Ended != "batch_size was changed" || s.Settings.Get(settings.BatchSize) != "7" || s.Settings.On(settings.AutoTune) {
		t.Errorf("after a size by key: %v, %+v", s.Settings, s.Ablation)
	}
	if err := r.Do(profiles.Command{Kind: profiles.SetCommand, Settings: []settings.Assignment{{Key: settings.AutoTune, Value: "true"}}}); err != nil {
		t.Fatal(err)
	}
	if s := step(3); !s.Ablation.Running || s.Ablation.Tuning.From != 7 {
		t.Errorf("switched on again: %+v", s.Ablation)
	}
	if err := r.Do(profiles.Command{Kind: profiles.StopAblationCommand}); err != nil {
		t.Fatal(err)
	}
	if s := step(3); s.Ablation.Running || s.Settings.On(settings.AutoTune) || s.Settings.Int(settings.BatchSize) != 7 {
		t.Errorf("stopped: %v, %+v", s.Settings, s.Ablation)
	}
	if err := r.Set(settings.AutoTune, "true"); err != nil {
		t.Fatal(err)
	}
	if s := step(3); !s.Ablation.Running {
		t.Error("it does not begin a third time")
	}
	if err := r.Set(settings.AutoTune, "false"); err != nil {
		t.Fatal(err)
	}
	if s := step(3); s.Ablation.Running || s.Settings.Int(settings.BatchSize) != 7 {
		t.Errorf("switched off: %v, %+v", s.Settings, s.Ablation)
	}
}

// What the user does between the last iteration of a search and the next one overrules its choice, and what
// is asked of the run stays what is in force.
func TestAChangeOverrulesTheChoice(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*sim.Run) error
		size int
		on   bool   // the tuner begins again
		said string // in the log; empty for nothing
	}{
		{"the batch size", func(r *sim.Run) error { return r.Set(settings.BatchSize, "7") }, 7, false, "; not adopted: batch_size was changed; the settings are as before, but batch_size = 7"},
		{"another setting", func(r *sim.Run) error { return r.Set("other", "1") }, 2, true, "; not adopted: other was changed; the settings are as before, but other = 1"},
		{"the tuner", func(r *sim.Run) error { return r.Set(settings.AutoTune, "false") }, 2, false, "; not adopted: auto_tune was changed"},
		{"stop", func(r *sim.Run) error { return r.Do(profiles.Command{Kind: profiles.StopAblationCommand}) }, 2, false, "; not adopted: it was stopped"},
		{"restart", func(r *sim.Run) error { return r.Do(profiles.Command{Kind: profiles.RestartCommand}) }, 2, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := stream.New(1 << 14)
			r, err := sim.New(t.Context(), sim.Options{Maker: &batched{}, Settings: batchedValues(t), Stream: events})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			a := aggregate.New(events.Follow(), aggregate.Options{})
			next := func() *profiles.Snapshot {
				if _, _, err := r.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				return a.Tick(time.Now())
			}
			for s := next(); s.Ablation == nil || s.Ablation.Running; s = next() {
				if s.Index > 1<<13 {
					t.Fatal("the search does not end")
				}
			}
			if err := c.do(r); err != nil {
				t.Fatal(err)
			}
			inForce := func(s *profiles.Snapshot) settings.Values {
				if s.Ablation != nil && s.Ablation.Running {
					return s.Ablation.Base
				}
				return s.Settings
			}
			s := next()
			if v := inForce(s); v.Int(settings.BatchSize) != c.size || v.On(settings.AutoTune) != c.on || s.Ablation.Running != c.on || s.Ablation.Tuning.Chosen != 0 {
				t.Errorf("the settings are %v, the table %+v", v, s.Ablation)
			}
			said := c.said == ""
			for _, line := range s.Log {
				said = said || strings.Contains(line.Text, c.said)
			}
			if !said {
				t.Errorf("the log is %v, want %q", s.Log, c.said)
			}
			if err := r.Set("other", "5"); err != nil { // with what is asked of the run
				t.Fatal(err)
			}
			if v := inForce(next()); v.Int("other") != 5 || v.Int(settings.BatchSize) != c.size || v.On(settings.AutoTune) != c.on {
				t.Errorf("after a change of another setting: %v", v)
			}
		})
	}
}

// A run that was begun to tune ends with it.
func TestARunEndsWithItsTuner(t *testing.T) {
	r, err := sim.New(t.Context(), sim.Options{Maker: &batched{}, Settings: batchedValues(t), Stream: stream.New(1 << 14), EndTuned: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 1 << 13 {
		_, done, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if done {
			if a := r.Ablation(); a == nil || a.Tuning.Chosen != 32 {
				t.Errorf("it ended with %+v", a)
			}
			return
		}
	}
	t.Error("it goes on")
}
