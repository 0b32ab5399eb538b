package sim

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/sim/workloads"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a reconstruction of a 64-pixel field that takes milliseconds an
// iteration.
var small = []string{"size=64", "object_size=32", "radius=10", "roi_diameter=40", "samples=6", "passes=1",
	"iterations=12", "init_iterations=10", "init_cycles=1", "threshold=0.002", "learning_rate=0.005", "channels="}

// configured are the default preset's settings, changed by key=value pairs.
func configured(t testing.TB, sets ...string) settings.Values {
	t.Helper()
	s, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start begins a run and returns it with its aggregator.
func start(t testing.TB, o Options) (*Run, *aggregate.Aggregator) {
	t.Helper()
	o.Stream = stream.New(1 << 14)
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Stop()
		_ = r.Wait()
		r.Close()
	})
	r.Start(context.Background())
	return r, aggregate.New(o.Stream.Follow(), aggregate.Options{})
}

// finish waits for the end of a run that must not fail.
func finish(t testing.TB, o Options) *profiles.Snapshot {
	t.Helper()
	r, a := start(t, o)
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	return a.Tick(time.Now())
}

// until ticks until a snapshot is as wanted.
func until(t testing.TB, a *aggregate.Aggregator, what string, ok func(*profiles.Snapshot) bool) *profiles.Snapshot {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if s := a.Tick(time.Now()); ok(s) {
			return s
		}
	}
	t.Fatalf("waited in vain for: %s", what)
	return nil
}

// otherThreads is a number of threads other than that of a run of which none was asked.
func otherThreads() string {
	if runtime.GOMAXPROCS(0) == 1 {
		return "2"
	}
	return "1"
}

func TestRunTrainsEverySampleAndFinishes(t *testing.T) {
	s := finish(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "iterations=40")...)})
	if s.State != profiles.Finished || len(s.Results) != 6 || !s.Of("psnr_db").Has || s.Of("coverage").Latest <= 0 {
		t.Fatalf("state %v, %d samples done, quality %v, coverage %g", s.State, len(s.Results), s.Of("psnr_db").Has, s.Of("coverage").Latest)
	}
	first, last := s.Results[0], s.Results[5]
	if !(first.Values[prism.SeriesLossNew] < 0.3 && last.Values[prism.SeriesLossOld] < 0.1 && last.Values[prism.SeriesLossNew] < 0.3) {
		t.Errorf("losses ended at %g of the first sample and %g, %g of the last", first.Values[prism.SeriesLossNew], last.Values[prism.SeriesLossOld], last.Values[prism.SeriesLossNew])
	}
	for _, p := range []profiles.Phase{prism.PhaseForward, prism.PhaseTelescope, prism.PhaseLoss, prism.PhaseBackward, prism.PhaseOptimizer} {
		if s.Phases[p].Median <= 0 {
			t.Errorf("phase %v took no time", p)
		}
	}
	if m := s.Memory; m.Parts[prism.MemoryWeights] <= 0 || m.Parts[prism.MemoryGradients] <= 0 || m.Parts[prism.MemoryMoments] <= 0 || m.Parts[prism.MemoryActivations] <= 0 {
		t.Errorf("memory %+v", m)
	}
}

// losses are the bits of every iteration's losses of a run.
func losses(t *testing.T, s settings.Values) []uint64 {
	t.Helper()
	events := stream.New(1)
	r, err := New(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: s, Stream: events})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var bits []uint64
	for {
		var rec profiles.Iteration
		out, err := r.loop.work.Iterate(t.Context(), &rec)
		if err != nil {
			t.Fatal(err)
		}
		bits = append(bits, math.Float64bits(rec.Series[prism.SeriesLossOld]), math.Float64bits(rec.Series[prism.SeriesLossNew]))
		if out.Finished {
			return bits
		}
	}
}

// Law 6: same seed and settings, same bits; caches and threads change no result.
func TestSameSeedGivesTheSameBits(t *testing.T) {
	want := losses(t, configured(t, append(small, "threads=1")...))
	for _, sets := range [][]string{
		{"threads=1"}, {"threads=2"}, {"measurement_cache=false", "fft_cache=false", "mask_cache=false"},
		{"pattern=remeasure"}, {"pattern=remeasure", "measurement_cache=false"},
	} {
		got := losses(t, configured(t, append(small, sets...)...))
		if len(got) != len(want) {
			t.Errorf("%v: %d iterations, want %d", sets, len(got)/2, len(want)/2)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%v: iteration %d differs", sets, i/2)
				break
			}
		}
	}
	if other := losses(t, configured(t, append(small, "seed=7")...)); other[1] == want[1] {
		t.Error("another seed gives the same first loss")
	}
}

func TestSettingsChangeBetweenIterations(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "samples=60", "iterations=100000", "threshold=0")...), Linger: true})
	for i, change := range [][2]string{
		{"amp", "bf16"}, {"amp", "bf16x3"}, {"amp", "fp16"}, {"amp", "off"}, {"pattern", "remeasure"}, {"measurement_cache", "false"},
		{"fft_cache", "false"}, {"mask_cache", "false"}, {"threads", otherThreads()}, {"learning_rate", "0.001"}, {"shared_spectrum", "false"},
		{"pruned_fft", "false"}, {"fused_telescope", "false"}, {"pruned_fft", "true"}, {"fused_telescope", "true"},
		{"checkpointing", "true"}, {"checkpointing", "false"},
		{"fused_optimizer", "true"}, {"amp", "bf16"}, {"amp", "off"}, {"checkpointing", "true"}, {"fused_optimizer", "false"},
		{"loss", "l2"}, {"normalize_loss", "false"}, {"loss", "ssim"}, {"loss", "composite"}, {"loss", "l1"}, {"normalize_loss", "true"},
		{"threshold", "0.0001"}, {"iterations", "14"}, {"cycles", "2"}, {"scheduler", "plateau"}, {"max_samples", "59"},
	} {
		if err := r.Set(change[0], change[1]); err != nil {
			t.Fatalf("%v: %v", change, err)
		}
		s := until(t, a, change[0], func(s *profiles.Snapshot) bool {
			n := len(s.Changes)
			return n == i+1 && s.Index > s.Changes[n-1].Iteration+2
		})
		if got := s.Settings.Get(change[0]); got != change[1] {
			t.Errorf("%s is %s, want %s", change[0], got, change[1])
		}
		if s.State == profiles.Failed {
			t.Fatalf("%v: %s", change, s.Err)
		}
	}
}

func TestSettingsThatCannotChangeAreRefused(t *testing.T) {
	r, _ := start(t, Options{Maker: workloads.PRISM(workloads.NoGPU("no CUDA device: none")), Settings: configured(t, append(small, "samples=60", "threshold=0")...), GPUReason: func() string { return "no CUDA device: none" }})
	for change, want := range map[[2]string]string{
		{"size", "16"}:          "object_size",
		{"amp", "int8"}:         "amp",
		{"learning_rate", "-1"}: "learning_rate",
		{"no_such_key", "1"}:    "no_such_key",
	} {
		if err := r.Set(change[0], change[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", change, err, want)
		}
	}
}

func TestPauseStepAndRestart(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "samples=60", "threshold=0")...), Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	do(t, r, profiles.PauseCommand)
	at := until(t, a, "pause", func(s *profiles.Snapshot) bool { return s.State == profiles.Paused }).Index
	do(t, r, profiles.StepCommand)
	until(t, a, "one iteration", func(s *profiles.Snapshot) bool { return s.Index == at+1 })
	if s := a.Tick(time.Now()); s.Index != at+1 || s.State != profiles.Paused {
		t.Errorf("a step led to iteration %d in state %v, want %d paused", s.Index, s.State, at+1)
	}
	restart(t, r)
	until(t, a, "restart", func(s *profiles.Snapshot) bool { return s.Index == 0 && s.State == profiles.Paused })
	do(t, r, profiles.ResumeCommand)
	until(t, a, "going on", func(s *profiles.Snapshot) bool { return s.State == profiles.Running && s.Index > 2 })
}

// A unit takes the time that the run ran for it: the pauses within it do not count.
func TestAUnitsTimeIsWithoutPauses(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "samples=2", "threshold=0", "iterations=1000000")...), Linger: true})
	paused := time.Duration(0)
	for range 2 {
		at := until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 }).Index
		do(t, r, profiles.PauseCommand)
		until(t, a, "a pause", func(s *profiles.Snapshot) bool { return s.State == profiles.Paused })
		began := time.Now()
		time.Sleep(300 * time.Millisecond)
		do(t, r, profiles.StepCommand)
		time.Sleep(300 * time.Millisecond)
		paused += time.Since(began)
		do(t, r, profiles.ResumeCommand)
		until(t, a, "going on", func(s *profiles.Snapshot) bool { return s.Index > at+2 })
	}
	if err := r.Set("iterations", "5"); err != nil {
		t.Fatal(err)
	}
	s := until(t, a, "the end", func(s *profiles.Snapshot) bool { return s.State == profiles.Finished })
	sum := time.Duration(0)
	for _, u := range s.Results {
		sum += u.Elapsed
	}
	if len(s.Results) != 2 || sum > s.Elapsed+paused/2 {
		t.Errorf("%d samples in %v, of a run of %v that paused for %v", len(s.Results), sum, s.Elapsed, paused)
	}
}

// Changed settings of a finished run take effect with the next one; its own settings
// remain those it ran under.
func TestSettingsOfARunThatIsOverCountForTheNext(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "max_iterations=5")...), Linger: true})
	const ended = "ended by max_iterations = 5"
	s := until(t, a, ended, func(s *profiles.Snapshot) bool { return s.State == profiles.Finished && told(s, ended) })
	if s.Index != 5 {
		t.Errorf("it ended after %d iterations", s.Index)
	}
	for _, set := range []settings.Assignment{{Key: "amp", Value: "bf16"}, {Key: "max_iterations", Value: "1"}, {Key: "max_iterations", Value: "7"}} {
		if err := r.Set(set.Key, set.Value); err != nil {
			t.Fatal(err)
		}
	}
	s = until(t, a, "the next run's settings", func(s *profiles.Snapshot) bool { return s.Next != nil && s.Next.Int("max_iterations") == 7 })
	if s.Next.Text("amp") != "bf16" || s.Settings.Text("amp") != "off" || s.Settings.Int("max_iterations") != 5 || len(s.Changes) != 0 {
		t.Errorf("next %s, in force %s and %d, changes %v", s.Next.Text("amp"), s.Settings.Text("amp"), s.Settings.Int("max_iterations"), s.Changes)
	}
	restart(t, r)
	s = until(t, a, "the end again", func(s *profiles.Snapshot) bool {
		return s.State == profiles.Finished && s.Run.PriorStarts == 1 && s.Index == 7
	})
	if s.Next != nil || s.Settings.Text("amp") != "bf16" || s.Memory.Parts[prism.MemoryWeights] == 0 {
		t.Errorf("the next run: %+v", s.Settings)
	}
}

func TestSaveWritesPictureAndArray(t *testing.T) {
	base := filepath.Join(t.TempDir(), "moon")
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, small...), Linger: true, SaveTo: base})
	until(t, a, "the end", func(s *profiles.Snapshot) bool { return s.State == profiles.Finished })
	if err := ask(r, profiles.SaveCommand); err != nil {
		t.Fatal(err)
	}
	until(t, a, "log line", func(s *profiles.Snapshot) bool {
		return len(s.Log) > 0 && strings.Contains(s.Log[len(s.Log)-1].Text, base+".npy")
	})
	for _, ext := range []string{".png", ".npy"} {
		if info, err := os.Stat(base + ext); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v, %v", ext, info, err)
		}
	}
	if err := ask(r, profiles.SaveCommand); err != nil {
		t.Fatal(err)
	}
	until(t, a, "line of the second", func(s *profiles.Snapshot) bool {
		return strings.HasPrefix(s.Log[len(s.Log)-1].Text, "saved "+base+"-2.png and "+base+"-2.npy")
	})
}

// A run whose loss is no longer a number fails with an error, its numbers stay to
// be seen, and it can begin again.
func TestDivergenceIsAnErrorAndCanBeRestarted(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "samples=60", "threshold=0")...), Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	do(t, r, profiles.PauseCommand)
	until(t, a, "pause", func(s *profiles.Snapshot) bool { return s.State == profiles.Paused })
	// The loop waits, so nothing else reads the object: the next sample measures
	// it.
	middle := object(r).Size/2*object(r).Size + object(r).Size/2
	healthy := object(r).Amplitude[middle]
	object(r).Amplitude[middle] = float32(math.NaN())
	do(t, r, profiles.ResumeCommand)
	s := until(t, a, "divergence", func(s *profiles.Snapshot) bool { return s.State == profiles.Failed })
	if !strings.Contains(s.Err, "not a number") || s.NonFinite != 1 {
		t.Errorf("error %q, %d non-finite losses", s.Err, s.NonFinite)
	}
	object(r).Amplitude[middle] = healthy
	restart(t, r)
	until(t, a, "restart", func(s *profiles.Snapshot) bool { return s.State == profiles.Running && s.Index > 3 })
	r.Stop()
	if err := r.Wait(); err != nil {
		t.Errorf("the restarted run ended with %v", err)
	}
}

// A panic of the loop is an error of the run, not the end of the process.
func TestPanicOfTheLoopIsAnError(t *testing.T) {
	o := Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, small...), Stream: stream.New(64)}
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.loop.run = nil // the first iteration meets it
	r.Start(context.Background())
	var crash *PanicError
	if err := r.Wait(); !errors.As(err, &crash) || len(crash.Stack) == 0 {
		t.Fatalf("the run ended with %v", err)
	}
}

func TestAnIterationOfTheRunAllocatesNothing(t *testing.T) {
	o := Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "init_iterations=0", "iterations=1000000", "threshold=0")...)}
	o.Stream = stream.New(1 << 10)
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	iterate := func() {
		if stop, err := r.loop.obey(t.Context(), t.Context()); stop || err != nil {
			t.Fatal(stop, err)
		}
		if err := r.loop.iterate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		iterate()
	}
	if n := testing.AllocsPerRun(20, iterate); n != 0 {
		t.Errorf("%v allocations per iteration", n)
	}
}

func BenchmarkIteration(b *testing.B) {
	for _, name := range []string{"moon", "baseline"} {
		b.Run(name, func(b *testing.B) {
			s, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: name, Sets: []string{"init_cycles=0", "iterations=1000000", "threshold=0"}})
			if err != nil {
				b.Fatal(err)
			}
			r, err := New(b.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: s, Stream: stream.New(64)})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			var sum [profiles.MaxPhases]int64
			for b.Loop() {
				var rec profiles.Iteration
				if _, err := r.loop.work.Iterate(b.Context(), &rec); err != nil {
					b.Fatal(err)
				}
				for p, ns := range rec.Phases {
					sum[p] += ns
				}
			}
			schema := prism.Schema()
			for p, ns := range sum[:len(schema.Phases)] {
				b.ReportMetric(float64(ns)/1e6/float64(b.N), "ms-"+schema.Phases[p].Name)
			}
		})
	}
}
