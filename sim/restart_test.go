package sim

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// endless is a run that stays in its first samples.
var endless = slices.Concat(small, []string{"samples=60", "threshold=0", "iterations=1000000"})

func restart(t *testing.T, r *Run) {
	t.Helper()
	if err := ask(r, profiles.RestartCommand); err != nil {
		t.Fatal(err)
	}
}

func set(t *testing.T, r *Run, key, value string) {
	t.Helper()
	if err := r.Set(key, value); err != nil {
		t.Fatal(err)
	}
}

// What the next start reads waits for it, beside a run that goes on under what it began
// with and that live settings still change.
func TestSettingsOfTheStartWaitForTheRestart(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, endless...), Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	set(t, r, "radius", "8")
	set(t, r, "samples", "7")
	set(t, r, "threads", otherThreads())
	s := until(t, a, "the next run's settings", func(s *profiles.Snapshot) bool { return s.Next != nil && len(s.Changes) > 0 })
	if s.Next.Number("radius") != 8 || s.Next.Int("samples") != 7 || s.Next.Get("threads") != otherThreads() || s.Settings.Number("radius") != 10 || s.Settings.Get("threads") != otherThreads() || len(s.Changes) != 1 {
		t.Errorf("next %+v, in force %+v, changes %v", s.Next, s.Settings, s.Changes)
	}
	set(t, r, "samples", "60") // taken back
	s = until(t, a, "one change less", func(s *profiles.Snapshot) bool { return s.Next.Int("samples") == 60 })
	if got := s.Next.Differing(s.Settings); !slices.Equal(got, []string{"radius"}) {
		t.Errorf("wait for the next run: %v", got)
	}
	restart(t, r)
	s = until(t, a, "the next run", func(s *profiles.Snapshot) bool { return s.Run.PriorStarts == 1 && s.Index > 3 })
	if s.Run.Sampling.Radius != 8 || s.Settings.Number("radius") != 8 || s.Next != nil || s.Settings.Get("threads") != otherThreads() {
		t.Errorf("the next run has radius %g, %+v", s.Run.Sampling.Radius, s.Settings)
	}
	const line = "restarted from the first weights of the seed with radius = 8"
	until(t, a, line, func(s *profiles.Snapshot) bool { return told(s, line) })
}

// Whatever is wrong with a setting of the start is said as on the command line, when it is
// asked for, and nothing changes.
func TestSettingsOfTheStartAreJudgedWhenAskedFor(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, endless...), Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	for _, tt := range []struct{ key, value, want string }{
		{"radius", "40", "radius = 40: must be at most half of size, 32"},
		{"size", "500", "size = 500: must be a power of two"},
		{"object_size", "128", "object_size = 128: must be at most size, 64"},
		{"samples", "1e9", "samples = 1000000000: must be at most"},
		{"kernels", "neon", `kernels = "neon": must be one of`},
		{"device", "cuda", "device = cuda: "},
	} {
		if err := r.Set(tt.key, tt.value); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s = %s: %v, want %q", tt.key, tt.value, err, tt.want)
		}
	}
	missing := []settings.Assignment{{Key: "image", Value: filepath.Join(t.TempDir(), "none.png")}}
	if err := r.Do(profiles.Command{Kind: profiles.SetCommand, Settings: missing, Try: true}); err == nil || !strings.Contains(err.Error(), "none.png: no such file") {
		t.Errorf("a picture that is not there: %v", err)
	}
	if err := r.Do(profiles.Command{Kind: profiles.SetCommand, Settings: []settings.Assignment{{Key: "object", Value: "star"}}, Try: true}); err != nil {
		t.Error(err)
	}
	set(t, r, "size", "256") // the next run may have what this one cannot
	if err := r.Set("loss", "ms-ssim"); err == nil || !strings.Contains(err.Error(), "when size is below 176") {
		t.Errorf("ms-ssim of 64 pixels: %v", err)
	}
	set(t, r, "size", "128")
	set(t, r, "size", "64")
	s := a.Last()
	if s.State != profiles.Running || len(s.Changes) != 0 {
		t.Errorf("%v after %v", s.State, s.Changes)
	}
}

// A run survives a failed restart: running, paused or finished, it is unchanged.
func TestARunOutlivesARestartThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "europa.png")
	for _, tt := range []struct {
		state profiles.State
		sets  []string
	}{{profiles.Running, endless}, {profiles.Paused, endless}, {profiles.Finished, append(slices.Clone(small), "max_iterations=5")}} {
		r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, tt.sets...), Linger: true})
		s := until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
		if tt.state == profiles.Paused {
			do(t, r, profiles.PauseCommand)
		}
		before := until(t, a, tt.state.String(), func(s *profiles.Snapshot) bool { return s.State == tt.state })
		set(t, r, "image", path)
		restart(t, r)
		s = until(t, a, "the refusal", func(s *profiles.Snapshot) bool {
			return len(s.Log) > len(before.Log) && s.Log[len(s.Log)-1].Refused && s.State == tt.state
		})
		if text := s.Log[len(s.Log)-1].Text; !strings.HasPrefix(text, "not restarted: ") || !strings.Contains(text, "europa.png: no such file") {
			t.Errorf("%v: the log says %q", tt.state, text)
		}
		if s.Run.PriorStarts != 0 || s.Next == nil || s.Next.Text("image") != path || s.Index < before.Index {
			t.Errorf("%v: iteration %d of start %d after %d, next %+v", tt.state, s.Index, s.Run.PriorStarts, before.Index, s.Next)
		}
		if tt.state == profiles.Running {
			until(t, a, "iterations after it", func(n *profiles.Snapshot) bool { return n.Index > s.Index+3 })
		}
		set(t, r, "image", "")
		set(t, r, "object", "star")
		restart(t, r)
		s = until(t, a, "the next run", func(s *profiles.Snapshot) bool {
			return s.Run.PriorStarts == 1 && (s.State == profiles.Paused || s.Index > 3)
		})
		if s.Run.Object != "star" {
			t.Errorf("%v: the next run shows %s", tt.state, s.Run.Object)
		}
	}
}

// A picture that is read for a restart is the next run's, at the next run's sizes.
func TestARestartLoadsAnotherPicture(t *testing.T) {
	base := filepath.Join(t.TempDir(), "europa")
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, endless...), Linger: true, SaveTo: base})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	if err := ask(r, profiles.SaveCommand); err != nil {
		t.Fatal(err)
	}
	until(t, a, "the picture", func(*profiles.Snapshot) bool { _, err := os.Stat(base + ".npy"); return err == nil })
	for _, a := range []settings.Assignment{{Key: "image", Value: base + ".png"}, {Key: "size", Value: "128"}, {Key: "object_size", Value: "16"}} {
		set(t, r, a.Key, a.Value)
	}
	restart(t, r)
	s := until(t, a, "the next run", func(s *profiles.Snapshot) bool { return s.Run.PriorStarts == 1 && s.Index > 0 })
	if s.Run.Object != "europa.png" || s.Run.Sampling.Size != 128 || s.Picture("truth").Width != 16 {
		t.Errorf("the next run shows %s of %d, a window of %d", s.Run.Object, s.Run.Sampling.Size, s.Picture("truth").Width)
	}
}

// Nothing listens to a run whose loop is gone, and it says so.
func TestARunWhoseLoopIsGoneRefusesARestart(t *testing.T) {
	r, _ := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, endless...), Linger: true})
	r.Stop()
	_ = r.Wait()
	if err := ask(r, profiles.RestartCommand); err == nil || !strings.Contains(err.Error(), "over for good") {
		t.Errorf("a restart of a run whose loop is gone: %v", err)
	}
}

// Where the memory holds one run alone, the present one goes before the next is built, and
// stays while the picture is not there.
func TestARestartWithoutRoomBesideTheRun(t *testing.T) {
	r, err := New(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, endless...), Stream: stream.New(1 << 10)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l := &r.loop
	next := changed(t, l.settings, "image="+filepath.Join(t.TempDir(), "none.png"))
	if s, err := l.another(t.Context(), next, false); err != nil || s.work != nil || l.work == nil {
		t.Fatalf("without a picture: %v, another %v, the present %v", err, s.work, l.work)
	}
	next = changed(t, next, "image=", "radius=8")
	s, err := l.another(t.Context(), next, false)
	if err != nil || s.work == nil || l.work != nil {
		t.Fatalf("another %v beside %v: %v", s.work, l.work, err)
	}
	l.begin(r, s, nil)
	r.options.Maker = broken{r.options.Maker}
	if _, err := l.another(t.Context(), next, false); err == nil || !strings.HasPrefix(err.Error(), "restart, after the run before had to make room") {
		t.Errorf("a run that cannot be made: %v", err)
	}
}

// broken makes no task.
type broken struct{ workload.Maker }

func (broken) New(context.Context, settings.Values, workload.Inputs) (workload.Task, error) {
	return nil, errors.New("broken")
}

// changed is settings with some of them changed together.
func changed(t *testing.T, v settings.Values, sets ...string) settings.Values {
	t.Helper()
	var all []settings.Assignment
	for _, set := range sets {
		key, value, _ := strings.Cut(set, "=")
		all = append(all, settings.Assignment{Key: key, Value: value})
	}
	v, err := v.With(all...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
