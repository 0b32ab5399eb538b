package sim

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/await/awaittest"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/ablation"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// forEver is a preparation of years.
const forEver = "warmup_measurements=2147483647"

// ends waits for the end of a run that was stopped. A fault of the kind that is tested
// would last for years.
func ends(t *testing.T, r *Run) {
	t.Helper()
	select {
	case <-r.Done():
	case <-time.After(time.Minute):
		t.Fatal("the run still goes on, 30 s after it was stopped")
	}
	if err := r.Wait(); err != nil {
		t.Errorf("the run that was stopped ended with %v", err)
	}
}

func TestAContextEndsNew(t *testing.T) {
	o := Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, forEver)...), Stream: stream.New(64)}
	for _, looks := range []int{0, 5000} {
		if _, err := New(awaittest.After(looks), o); !errors.Is(err, context.Canceled) {
			t.Errorf("ended after %d looks: %v", looks, err)
		}
	}
}

// Stop, and the end of Start's context, end a preparation too, before the run and for a
// restart.
func TestAPreparationIsStopped(t *testing.T) {
	for name, stop := range map[string]func(*Run, context.CancelFunc){
		"Stop":        func(r *Run, _ context.CancelFunc) { r.Stop() },
		"the context": func(_ *Run, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, forEver)...), Stream: stream.New(64), Linger: true}
			r, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			r.Start(ctx)
			stop(r, cancel)
			ends(t, r)
			if s := aggregate.New(o.Stream.Follow(), aggregate.Options{}).Tick(time.Now()); s.State != profiles.Stopped {
				t.Errorf("the run is %v", s.State)
			}
			if _, err := r.WriteReconstruction(t.Context(), filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "nothing was reconstructed") {
				t.Errorf("saved: %v", err)
			}
		})
	}
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, small...), Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	key, value, _ := strings.Cut(forEver, "=")
	if err := r.Set(key, value); err != nil {
		t.Fatal(err)
	}
	if err := ask(r, profiles.RestartCommand); err != nil {
		t.Fatal(err)
	}
	until(t, a, "the preparation", func(s *profiles.Snapshot) bool { return s.State == profiles.Preparing })
	r.Stop()
	ends(t, r)
}

// A run whose iteration is cut short was stopped, and has not failed; an ablation ends
// with the settings as they were.
func TestAnIterationThatIsCutShortEndsTheRun(t *testing.T) {
	for _, ablating := range []bool{false, true} {
		for looks := 0; looks < 300; looks += 61 {
			o := Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "threshold=0", "iterations=1000000")...), Stream: stream.New(1 << 10)}
			r, err := New(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if ablating {
				if err := r.loop.comparing.ablate(t.Context(), ablation.Options{Rounds: 1000, Least: 1, Time: time.Nanosecond}); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.guard(t.Context(), awaittest.After(looks)); err != nil {
				t.Fatalf("ended after %d looks: %v", looks, err)
			}
			s := aggregate.New(o.Stream.Follow(), aggregate.Options{}).Tick(time.Now())
			if s.State != profiles.Stopped || s.Err != "" {
				t.Errorf("ended after %d looks: %v, %q", looks, s.State, s.Err)
			}
			if ablating {
				returned(t, s, o.Settings, "the run was stopped")
			}
			r.Close()
		}
	}
}

// Nothing is cut that ends by itself soon: the end of the context lets a short iteration
// end, whose numbers and picture are whole.
func TestAShortIterationIsNotCut(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "threshold=0", "iterations=1000000", "init_iterations=0")...), Stream: stream.New(1 << 14)}
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := aggregate.New(o.Stream.Follow(), aggregate.Options{})
	r.Start(ctx)
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	cancel()
	ends(t, r)
	if r.loop.work == nil || !r.loop.work.(*prism.Reconstruction).Reconstructed() || r.loop.index != a.Tick(time.Now()).Index {
		t.Errorf("%d iterations ended, %d were told of", r.loop.index, a.Tick(time.Now()).Index)
	}
}

// once makes tasks that cannot be restarted.
type once struct{ workload.Maker }

func (m once) New(ctx context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	task, err := m.Maker.New(ctx, v, in)
	if err != nil {
		return nil, err
	}
	return onceTask{task.(*prism.Reconstruction)}, nil
}

type onceTask struct{ *prism.Reconstruction }

func (onceTask) Unable() []profiles.CommandKind {
	return []profiles.CommandKind{profiles.RestartCommand}
}

// No setting waits for the next run of a task that has none: while it runs, those that are read at its start are
// refused, and after it all are.
func TestNothingWaitsForARunThatNeverBegins(t *testing.T) {
	maker := once{workloads.PRISM(workloads.Devices{})}
	v := configured(t, append(small, "threshold=0", "iterations=1000000")...)
	r, a := start(t, Options{Maker: maker, Settings: v, Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	if err := r.Set("seed", "7"); err == nil || !strings.Contains(err.Error(), "seed = 7: cannot change in this run: ") {
		t.Errorf("seed: %v", err)
	}
	if err := errors.Join(r.Set("seed", v.Get("seed")), r.Set("threads", "1")); err != nil {
		t.Errorf("settings that stay or are live: %v", err)
	}
	r, a = start(t, Options{Maker: maker, Settings: configured(t, append(small, "max_iterations=5")...), Linger: true})
	until(t, a, "its end", func(s *profiles.Snapshot) bool { return s.State == profiles.Finished })
	if err := r.Set("threads", "1"); !errors.Is(err, errEnded) {
		t.Errorf("after the run: %v", err)
	}
}
