package sim

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/workloads"
)

// ask asks a run for a command of a kind about settings.
func ask(r *Run, k profiles.CommandKind, sets ...settings.Assignment) error {
	return r.Do(profiles.Command{Kind: k, Settings: sets})
}

// do is ask for a command that must be accepted.
func do(t *testing.T, r *Run, k profiles.CommandKind) {
	t.Helper()
	if err := ask(r, k); err != nil {
		t.Fatalf("%s: %v", k, err)
	}
}

func TestSetManyChangesAllAtOneBoundary(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "samples=60", "threshold=0")...), Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	sets := []settings.Assignment{
		{Key: "loss", Value: "composite"}, {Key: "composite_l1", Value: "0.2"}, {Key: "composite_l2", Value: "0.3"},
		{Key: "composite_ssim", Value: "0.5"}, {Key: "amp", Value: "bf16"}, {Key: "threads", Value: "1"},
	}
	if err := ask(r, profiles.SetCommand, sets...); err != nil {
		t.Fatal(err)
	}
	s := until(t, a, "the changes", func(s *profiles.Snapshot) bool {
		n := len(s.Changes)
		return n > 0 && s.Index > s.Changes[n-1].Iteration+2
	})
	for _, c := range s.Changes {
		if c.Iteration != s.Changes[0].Iteration {
			t.Errorf("%s changed at iteration %d, %s at %d", c.Key, c.Iteration, s.Changes[0].Key, s.Changes[0].Iteration)
		}
	}
	for _, want := range sets {
		if got := s.Settings.Get(want.Key); got != want.Value {
			t.Errorf("%s is %s, want %s", want.Key, got, want.Value)
		}
	}
}

func TestSetManyChangesNothingWhereOneIsRefused(t *testing.T) {
	r, _ := start(t, Options{Maker: workloads.PRISM(workloads.NoGPU("no CUDA device: none")), Settings: configured(t, append(small, "samples=60", "threshold=0")...), GPUReason: func() string { return "no CUDA device: none" }})
	before := r.wanted
	for want, wrong := range map[string][]settings.Assignment{
		"amp = \"int8\": must be one of off": {{Key: "threads", Value: "1"}, {Key: "amp", Value: "int8"}},
		"object_size = 128: must be at most": {{Key: "threads", Value: "1"}, {Key: "object_size", Value: "128"}},
		"must sum to 1":                      {{Key: "loss", Value: "composite"}, {Key: "composite_l1", Value: "0.9"}, {Key: "composite_l2", Value: "0.9"}},
		"device = cuda: no CUDA device":      {{Key: "amp", Value: "bf16"}, {Key: "device", Value: "cuda"}},
	} {
		if err := ask(r, profiles.SetCommand, wrong...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", wrong, err, want)
		}
		if len(before.Differing(r.wanted)) > 0 {
			t.Errorf("%v changed the settings that are asked for", wrong)
		}
	}
}

// The number of samples left is a setting: the run ends with the sample that it
// names, or with the present one where that is later.
func TestSamplesLeftCanChange(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "samples=60", "threshold=0", "iterations=4")...), Linger: true})
	until(t, a, "two samples", func(s *profiles.Snapshot) bool { return len(s.Results) >= 2 })
	do(t, r, profiles.PauseCommand)
	s := until(t, a, "pause", func(s *profiles.Snapshot) bool { return s.State == profiles.Paused })
	for _, most := range []string{"1", "1000"} { // there and back: neither ends it now
		if err := r.Set("max_samples", most); err != nil {
			t.Fatal(err)
		}
	}
	want := s.Unit + 3
	if err := r.Set("max_samples", strconv.Itoa(want)); err != nil {
		t.Fatal(err)
	}
	do(t, r, profiles.ResumeCommand)
	ended := "ended by max_samples = " + strconv.Itoa(want)
	s = until(t, a, ended, func(s *profiles.Snapshot) bool { return s.State == profiles.Finished && told(s, ended) })
	if len(s.Results) != want {
		t.Errorf("%d samples were trained, want %d", len(s.Results), want)
	}
}

// The threshold ends the initialisation too, from the boundary at which it changes.
func TestThresholdChangesTheInitialisation(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "threshold=0", "init_iterations=1000000")...), Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	if err := r.Set("threshold", "5"); err != nil {
		t.Fatal(err)
	}
	until(t, a, "the progressive stage", func(s *profiles.Snapshot) bool { return s.InUnits() })
}

// A change that the loop makes by itself does not overwrite one of the user that waits.
func TestTheLoopsChangesDoNotOverwriteTheUsers(t *testing.T) {
	r, err := New(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, small...), Stream: stream.New(1 << 8)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	own := settings.Assignment{Key: "threads", Value: "2"}
	if err := r.Set("threads", "1"); err != nil {
		t.Fatal(err)
	}
	if r.want(own) || r.wanted.Get("threads") != "1" {
		t.Errorf("threads = %s is asked for, want the user's 1", r.wanted.Get("threads"))
	}
	if _, _, err := r.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !r.want(own) || r.wanted.Get("threads") != "2" {
		t.Errorf("once the user's change is in force, threads = %s is asked for, want 2", r.wanted.Get("threads"))
	}
}

// A command is answered by an event: with the iteration from which it is in force, or with why it was refused. A try
// asks for nothing.
func TestCommandsAreAnswered(t *testing.T) {
	r, err := New(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "samples=60", "threshold=0")...), Stream: stream.New(64)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	answers := r.stream.Follow()
	next := func() {
		t.Helper()
		if _, _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	next()
	live := []settings.Assignment{{Key: "amp", Value: "bf16"}}
	for _, c := range []profiles.Command{
		{Kind: profiles.SetCommand, N: 1, By: "pts/1", Settings: live},
		{Kind: profiles.SetCommand, N: 2, Settings: []settings.Assignment{{Key: "amp", Value: "off"}}, Try: true},
		{Kind: profiles.ForkCommand, N: 3},
	} {
		if err := r.Do(c); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := r.Do(profiles.Command{Kind: "dance"}); err == nil || err.Error() != `"dance": not a command of this run` {
		t.Errorf("an unknown command: %v", err)
	}
	next()
	var got []profiles.Answer
	answers.Drain(func(e *profiles.Event) {
		if a, ok := e.Body.(*profiles.Answer); ok {
			got = append(got, *a)
		}
	})
	want := []profiles.Answer{
		{Kind: profiles.SetCommand, N: 1, By: "pts/1", Iteration: 1},
		{Kind: profiles.ForkCommand, N: 3, Iteration: 1, Refused: "not forked: the settings are as they were before that change"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("answers\n%+v, want\n%+v", got, want)
	}
	if v := r.loop.settings.Get("amp"); v != "bf16" {
		t.Errorf("amp is %s", v)
	}
}

// A run says which commands it is able to carry out.
func TestARunSaysWhatItIsAbleToDo(t *testing.T) {
	r, err := New(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, small...), Stream: stream.New(1)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := r.Info().Able; !slices.Equal(got, profiles.Every().Without(profiles.TraceCommand)) {
		t.Errorf("able to %v, want all", got)
	}
}

// A limit that a run is already beyond does not end it: it is refused, with what it must be, and what was set with it
// comes into force.
func TestALimitBehindTheRunIsRefused(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Linger: true,
		Settings: configured(t, append(small, "samples=60", "iterations=20", "threshold=0")...)})
	until(t, a, "the third sample", func(s *profiles.Snapshot) bool { return s.UnitsEnded() > 2 })
	do(t, r, profiles.PauseCommand)
	until(t, a, "the pause", func(s *profiles.Snapshot) bool { return s.State == profiles.Paused })
	for _, c := range []struct{ key, value, says string }{
		{"max_iterations", "10", "max_iterations stays 0: max_iterations must be above the "},
		{"max_seconds", "0.000001", "max_seconds stays 0: max_seconds must be above the "},
	} {
		sets := []settings.Assignment{{Key: c.key, Value: c.value}, {Key: "learning_rate", Value: "0.00" + strconv.Itoa(len(c.says))}}
		if err := r.Do(profiles.Command{Kind: profiles.SetCommand, Settings: sets}); err != nil {
			t.Fatal(err)
		}
		until(t, a, c.says, func(s *profiles.Snapshot) bool {
			return slices.ContainsFunc(s.Log, func(l profiles.LogLine) bool { return l.Refused && strings.HasPrefix(l.Text, c.says) })
		})
		s := until(t, a, "the other setting", func(s *profiles.Snapshot) bool { return s.Settings.Get("learning_rate") == sets[1].Value })
		if s.State != profiles.Paused || s.Settings.Get(c.key) != "0" {
			t.Errorf("%s: %v with %s", c.key, s.State, s.Settings.Get(c.key))
		}
	}
	for _, most := range []string{"5", "100000"} { // the second waits while the first is refused
		if err := r.Set("max_iterations", most); err != nil {
			t.Fatal(err)
		}
	}
	until(t, a, "a limit ahead", func(s *profiles.Snapshot) bool { return s.Settings.Int("max_iterations") == 100000 })
}
