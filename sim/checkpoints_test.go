package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	images "prismtop/sim/picture"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// kinds are the workloads of this build.
func kinds() []Kind {
	var all []Kind
	for _, w := range workloads.All {
		all = append(all, Kind{w.Presets.Table, w.Schema()})
	}
	return all
}

// reopened reads a checkpoint that must be sound.
func reopened(t *testing.T, path string) *Resumed {
	t.Helper()
	c, err := OpenCheckpoint(t.Context(), path, kinds())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// driven runs iterations up to the index last, with changes of settings before those of their
// indices, and returns the bits of every iteration's series, cache counters left out.
func driven(t *testing.T, r *Run, last int64, changes map[int64]string) (bits []uint64) {
	t.Helper()
	for r.loop.index < last {
		var sets []settings.Assignment
		for _, set := range strings.Fields(changes[r.loop.index]) {
			key, value, _ := strings.Cut(set, "=")
			sets = append(sets, settings.Assignment{Key: key, Value: value})
		}
		if err := ask(r, profiles.SetCommand, sets...); err != nil {
			t.Fatal(err)
		}
		rec, _, err := r.Next(t.Context())
		if err != nil || rec == nil {
			t.Fatalf("iteration %d: %v", r.loop.index, err)
		}
		bits = append(bits, uint64(rec.Unit), uint64(rec.InUnit), uint64(rec.Kind))
		for i, info := range r.loop.info.Schema.Series {
			if info.Each {
				bits = append(bits, math.Float64bits(rec.Series[i]))
			}
		}
	}
	return bits
}

// outputBits returns the bits of the reconstruction.
func outputBits(r *Run) (bits []uint64) {
	for _, v := range r.loop.work.(*prism.Reconstruction).Output() {
		bits = append(bits, uint64(math.Float32bits(v)))
	}
	return bits
}

// opened makes a run that is driven by the test.
func opened(t *testing.T, o Options) *Run {
	t.Helper()
	o.Maker, o.Stream = workloads.Of(o.Settings).Maker(workloads.Devices{}), stream.New(1<<12)
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// checkpointed writes the state of a run to a file.
func checkpointed(t *testing.T, r *Run) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.npz")
	r.options.Checkpoints.Path = path
	r.loop.checkpoints.began(&r.options.Checkpoints, r.stream, 0, nil)
	if err := errors.Join(r.loop.checkpoint(t.Context()), r.loop.checkpoints.wait()); err != nil {
		t.Fatal(err)
	}
	return path
}

// A run that is resumed goes on to the same bits as one that was never interrupted: through the
// initialisation and the ends of samples, with noise, schedules and mixed precision, and with
// caches and AMP switched before and after.
func TestAResumedRunGoesOnToTheSameBits(t *testing.T) {
	const half, whole = 100, 200
	switches := map[int64]string{
		20: "mask_cache=false", 45: "amp=bf16 measurement_cache=false", 70: "amp=fp16", 90: "fft_cache=false mask_cache=true",
		130: "amp=off measurement_cache=true", 160: "amp=bf16 fused_optimizer=false", 180: "learning_rate=0.002 checkpointing=true",
	}
	for _, test := range []struct {
		sets    string
		changes map[int64]string
	}{
		{"threads=1", nil}, {"threads=2", nil}, {"amp=bf16 threads=2", nil}, {"amp=fp16 threads=1", nil},
		{"threads=1", switches}, {"threads=2 pattern=remeasure noise=composite snr=30 readout_sigma=0.01", switches},
		{"init_iterations=150 threads=2 faithful=true", nil}, // interrupted within the initialisation
		{"iterations=18 samples=12 threads=2", nil},          // and between two samples: 10 + 5·18
		{"scheduler=plateau iterations=1 cycles=40 loss=composite amsgrad=true threads=2", nil},
		{"batch_norm=false sample_length=8 samples=3 iterations=70 threads=2", nil},
	} {
		t.Run(fmt.Sprintf("%s,%v", strings.ReplaceAll(test.sets, " ", ","), test.changes != nil), func(t *testing.T) {
			v := configured(t, slices.Concat(small, []string{"iterations=37", "threshold=0"}, strings.Fields(test.sets))...)
			straight := opened(t, Options{Settings: v})
			want := driven(t, straight, whole, test.changes)
			first := opened(t, Options{Settings: v})
			got := driven(t, first, half, test.changes)
			c := reopened(t, checkpointed(t, first))
			if c.Iteration != half || c.Workload != "prism" {
				t.Fatalf("iteration %d of %s", c.Iteration, c.Workload)
			}
			second := opened(t, Options{Settings: c.Settings, Resume: c})
			if !sameResults(second.loop.units.newest, first.loop.units.newest) {
				t.Errorf("results %v, want %v", second.loop.units.newest, first.loop.units.newest)
			}
			got = append(got, driven(t, second, whole, test.changes)...)
			if !slices.Equal(got, want) {
				for i := range want {
					if i >= len(got) || got[i] != want[i] {
						t.Fatalf("the numbers differ from iteration %d on", i/(len(want)/whole))
					}
				}
			}
			if !slices.Equal(outputBits(second), outputBits(straight)) {
				t.Error("the reconstruction differs")
			}
		})
	}
}

// sameResults compares results whose values may be NaN.
func sameResults(a, b []profiles.UnitResult) bool {
	return slices.EqualFunc(a, b, func(x, y profiles.UnitResult) bool {
		for i := range x.Values {
			if math.Float64bits(x.Values[i]) != math.Float64bits(y.Values[i]) && !(math.IsNaN(x.Values[i]) && math.IsNaN(y.Values[i])) {
				return false
			}
		}
		x.Values, y.Values = profiles.Values{}, profiles.Values{}
		return x == y
	})
}

// A resumed run knows what its checkpoint's samples have seen of k-space, though none ends after it.
func TestAResumedRunKnowsWhatWasSeen(t *testing.T) {
	v := configured(t, slices.Concat(small, []string{"iterations=37", "threshold=0"})...)
	first := opened(t, Options{Settings: v})
	driven(t, first, 100, nil)
	c := reopened(t, checkpointed(t, first))
	ends, err := c.Settings.Set(settings.MaxIterations, "105")
	if err != nil {
		t.Fatal(err)
	}
	s := finish(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: ends, Resume: c})
	if seen := s.Of("coverage"); s.Index != 105 || !seen.Has || seen.Latest <= 0 {
		t.Errorf("after %d iterations: %+v", s.Index, seen)
	}
}

// A resumed run knows how long it ran in all, unless its checkpoint does not say.
func TestAResumedRunKnowsHowLongItRan(t *testing.T) {
	v := configured(t, slices.Concat(small, []string{"iterations=37", "threshold=0"})...)
	first := opened(t, Options{Settings: v})
	driven(t, first, 20, nil)
	c := reopened(t, checkpointed(t, first))
	second := opened(t, Options{Settings: c.Settings, Resume: c})
	driven(t, second, 40, nil)
	path := checkpointed(t, second)
	again := reopened(t, path)
	if c.Ran <= 0 || again.Ran <= c.Ran {
		t.Errorf("%g s at the first checkpoint, %g s at the second", c.Ran, again.Ran)
	}
	ends, err := c.Settings.Set(settings.MaxIterations, "45")
	if err != nil {
		t.Fatal(err)
	}
	maker := workloads.PRISM(workloads.Devices{})
	s := finish(t, Options{Maker: maker, Settings: ends, Resume: again})
	if got := (s.InAll() - s.Elapsed).Seconds(); math.Abs(got-again.Ran) > 1e-6 {
		t.Errorf("%g s before the checkpoint, which says %g", got, again.Ran)
	}
	old := reopened(t, path)
	old.Ran = 0 // as in files of older versions
	if s := finish(t, Options{Maker: maker, Settings: ends, Resume: old}); s.InAll() != 0 {
		t.Errorf("%v in all, of which %v are known", s.InAll(), s.Elapsed)
	}
}

func TestTheSmallestWorkloadIsResumedToo(t *testing.T) {
	v, err := workloads.Presets().Lookup("curve")
	if err != nil {
		t.Fatal(err)
	}
	straight := opened(t, Options{Settings: v.Settings})
	want := driven(t, straight, 250, nil)
	first := opened(t, Options{Settings: v.Settings})
	got := driven(t, first, 130, map[int64]string{50: "basis_cache=false"})
	c := reopened(t, checkpointed(t, first))
	second := opened(t, Options{Settings: c.Settings, Resume: c})
	if got = append(got, driven(t, second, 250, map[int64]string{200: "basis_cache=true"})...); !slices.Equal(got, want) {
		t.Error("the numbers differ")
	}
}

// A checkpoint has the results of the newest units; those before are counted, for the run that goes on as well.
func TestACheckpointIsBoundedInTheNumberOfUnits(t *testing.T) {
	v, err := workloads.Presets().Lookup("curve")
	if err != nil {
		t.Fatal(err)
	}
	const units = 5*profiles.KeptResults + 3
	first := opened(t, Options{Settings: v.Settings})
	driven(t, first, 10, nil)
	for unit := range int32(units) {
		first.loop.unitDone(profiles.UnitResult{Unit: unit, Iterations: 1, Threshold: 1, Converged: unit > 0})
	}
	c := reopened(t, checkpointed(t, first))
	if c.Ended() != units || len(c.Results) > 2*profiles.KeptResults {
		t.Errorf("%d units, %d results", c.Ended(), len(c.Results))
	}
	second := opened(t, Options{Settings: c.Settings, Resume: c})
	again := reopened(t, checkpointed(t, second))
	if again.Ended() != units || again.Earlier == nil || !slices.Equal(again.Earlier.Failed, []int32{0}) {
		t.Errorf("resumed: %d units, before the results %+v", again.Ended(), again.Earlier)
	}
	if s := aggregate.New(second.stream.Follow(), aggregate.Options{}).Tick(time.Now()); s.UnitsEnded() != units || len(s.Ended().Failed) != 1 {
		t.Errorf("resumed: a screen counts %d units, %d failed", s.UnitsEnded(), len(s.Ended().Failed))
	}
}

// A live setting may be given on resuming; anything else that differs is an error that names it.
func TestWhatMayDifferOnResuming(t *testing.T) {
	v := configured(t, slices.Concat(small, []string{"iterations=37", "threshold=0", "threads=1"})...)
	first := opened(t, Options{Settings: v})
	driven(t, first, 60, map[int64]string{30: "loss=l2"}) // suspends no threshold, which is 0
	path := checkpointed(t, first)
	for _, test := range []struct{ set, want string }{
		{"seed=7", "seed = 7: must be 1, as in the checkpoint " + path + ": the first weights and the noise came from it"},
		{"radius=12", "radius = 12: must be 10, as in the checkpoint " + path + ": masks and measurements rest on it"},
		{"object=star", `object = "star": must be "moon", as in the checkpoint ` + path},
		{"max_iterations=60", "max_iterations = 60: must be above 60, the iterations of the checkpoint " + path + ", or 0 for no limit"},
		{"max_samples=1", "max_samples = 1: must be above 1, as far as the checkpoint " + path + " is, or 0 for all"},
		{"max_iterations=61", ""}, {"max_samples=2", ""}, {"amp=bf16", ""},
	} {
		c := reopened(t, path)
		if got := c.Settings.Text("loss"); got != "l2" {
			t.Fatalf("the checkpoint has the loss %s", got)
		}
		key, value, _ := strings.Cut(test.set, "=")
		changed, err := c.Settings.Set(key, value)
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: changed, Resume: c, Stream: stream.New(64)})
		if test.want != "" {
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("%s: %v, want %s", test.set, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.set, err)
			continue
		}
		if r.loop.settings.Get(key) != value || r.loop.index != 60 || r.loop.info.Resumed != 60 {
			t.Errorf("%s: iteration %d under %s", test.set, r.loop.index, r.loop.settings.Get(key))
		}
		r.Close()
	}
}

// A suspended threshold stays what it was for.
func TestASuspendedThresholdIsResumed(t *testing.T) {
	v := configured(t, slices.Concat(small, []string{"iterations=37", "threads=1"})...)
	first := opened(t, Options{Settings: v})
	driven(t, first, 20, map[int64]string{12: "loss=ssim"})
	before := first.loop.settings.Get("threshold")
	if !strings.Contains(before, "for normalised l1") {
		t.Fatalf("threshold %s is not suspended", before)
	}
	c := reopened(t, checkpointed(t, first))
	second := opened(t, Options{Settings: c.Settings, Resume: c})
	if got := second.loop.settings.Get("threshold"); got != before {
		t.Errorf("threshold %s, want %s", got, before)
	}
}

func TestAnotherPictureIsRefused(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "p.npy")
	draw := func(object string) {
		r := opened(t, Options{Settings: configured(t, append(small, "object="+object, "init_iterations=0")...)})
		p := r.loop.work.(workload.Imager).Picture(prism.PictureTruth)
		if _, err := images.SavePair(t.Context(), strings.TrimSuffix(path, ".npy"), p.Pixels, p.Width, p.Height); err != nil {
			t.Fatal(err)
		}
	}
	draw("moon")
	first := opened(t, Options{Settings: configured(t, append(small, "image="+path)...)})
	driven(t, first, 3, nil)
	c := checkpointed(t, first)
	draw("star")
	_, err := New(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: first.loop.settings, Resume: reopened(t, c), Stream: stream.New(64)})
	if err == nil || !strings.Contains(err.Error(), "the picture p.npy differs from that of the checkpoint") {
		t.Errorf("the error is %v", err)
	}
}

// A run writes a checkpoint at its intervals and at its end, however it ends, and says where.
func TestCheckpointsAtIntervalsAndAtTheEnd(t *testing.T) {
	for _, end := range []string{"limit", "stop", "context", "diverged", "failed", "panicked"} {
		t.Run(end, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.npz")
			sets := append(small, "iterations=100000", "threads=1", "threshold=0")
			maker := workload.Maker(workloads.PRISM(workloads.Devices{}))
			fails := map[string]error{"diverged": workload.ErrDiverged, "failed": errors.New("out of order"), "panicked": errPanic}[end]
			if fails != nil {
				maker = failing{maker, 40, fails}
			}
			if end == "limit" {
				sets = append(sets, "max_iterations=40")
			}
			o := Options{Maker: maker, Settings: configured(t, sets...), Stream: stream.New(1 << 12), Checkpoints: Checkpoints{Path: path, Every: time.Nanosecond}}
			r, err := New(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			a := aggregate.New(o.Stream.Follow(), aggregate.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.Start(ctx)
			if end == "stop" || end == "context" {
				until(t, a, "a checkpoint", func(s *profiles.Snapshot) bool {
					return slices.ContainsFunc(s.Log, func(e profiles.LogLine) bool { return strings.HasPrefix(e.Text, "checkpoint of iteration ") })
				})
				if end == "stop" {
					r.Stop()
				}
				cancel()
			}
			err = r.Wait()
			written, missing := r.LastCheckpoint()
			snapshot := a.Tick(time.Now())
			c := reopened(t, path)
			if written.Path != path || c.Iteration != written.Iteration {
				t.Fatalf("%+v, and the file has iteration %d", written, c.Iteration)
			}
			if fails == nil {
				if err != nil || missing != nil || written.Iteration != r.loop.index || r.loop.index < 1 {
					t.Errorf("%v, %v: checkpoint of iteration %d at %d", err, missing, written.Iteration, r.loop.index)
				}
				return
			}
			if err == nil || missing == nil || written.Iteration < 1 || written.Iteration > 40 {
				t.Errorf("%v, %v: checkpoint of iteration %d", err, missing, written.Iteration)
			}
			says := fmt.Sprintf("; %s has iteration %d", path, written.Iteration)
			if !slices.ContainsFunc(snapshot.Log, func(e profiles.LogLine) bool {
				return e.Refused && strings.HasPrefix(e.Text, "no checkpoint: ") && strings.HasSuffix(e.Text, says)
			}) {
				t.Errorf("the log does not say what is left: %v", snapshot.Log)
			}
		})
	}
}

// A state within an iteration is none to go on from.
func TestAnIterationCutShortLeavesNoCheckpoint(t *testing.T) {
	r := opened(t, Options{Settings: configured(t, append(small, "threads=1")...), Checkpoints: Checkpoints{Path: filepath.Join(t.TempDir(), "c.npz")}})
	driven(t, r, 3, nil)
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.loop.end(cut, fmt.Errorf("iteration 3: %w", cut.Err())); err != nil {
		t.Errorf("a run that was cut short failed: %v", err)
	}
	written, missing := r.LastCheckpoint()
	if want := "no checkpoint of iteration 3: the run was cut short within an iteration"; written.Path != "" || missing == nil || missing.Error() != want {
		t.Errorf("%+v, %v, want %s", written, missing, want)
	}
}

// While an ablation switches settings, a checkpoint would have the wrong ones.
func TestAnAblationPostponesCheckpoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.npz")
	r, a := start(t, Options{
		Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "iterations=1000000", "threshold=0", "threads=1")...),
		Checkpoints: Checkpoints{Path: path},
	})
	if err := ask(r, profiles.AblateCommand); err != nil {
		t.Fatal(err)
	}
	until(t, a, "an ablation", func(s *profiles.Snapshot) bool { return s.Ablation != nil && s.Ablation.Running })
	if err := ask(r, profiles.CheckpointCommand); err != nil {
		t.Fatal(err)
	}
	until(t, a, "a refusal", func(s *profiles.Snapshot) bool {
		return slices.ContainsFunc(s.Log, func(e profiles.LogLine) bool {
			return e.Refused && e.Text == "no checkpoint: the settings are those of a comparison, which must end first"
		})
	})
	r.Stop()
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	c := reopened(t, path)
	if changed := c.Settings.ChangesFrom(r.options.Settings); changed != "" || c.Iteration != r.loop.index {
		t.Errorf("iteration %d of %d, settings changed: %s", c.Iteration, r.loop.index, changed)
	}
}

// errPanic makes a failing task panic.
var errPanic = errors.New("panic")

// failing makes tasks that fail in an iteration.
type failing struct {
	workload.Maker
	at  int64
	err error
}

func (f failing) New(ctx context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	task, err := f.Maker.New(ctx, v, in)
	if err != nil {
		return nil, err
	}
	return &failingTask{task.(*prism.Reconstruction), f}, nil
}

type failingTask struct {
	*prism.Reconstruction
	how failing
}

func (f *failingTask) Iterate(ctx context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	if rec.Index < f.how.at {
		return f.Reconstruction.Iterate(ctx, rec)
	}
	if f.how.err == errPanic {
		panic(errPanic)
	}
	return workload.Outcome{}, f.how.err
}

// On request, without a file given, checkpoints go to new files; a folder that cannot be written
// is an error in the log, and the run goes on.
func TestCheckpointsOnRequest(t *testing.T) {
	t.Chdir(t.TempDir())
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "iterations=100000", "threshold=0", "threads=1")...)})
	logged := func(text string) {
		t.Helper()
		until(t, a, text, func(s *profiles.Snapshot) bool {
			return slices.ContainsFunc(s.Log, func(e profiles.LogLine) bool { return strings.HasSuffix(e.Text, text) })
		})
	}
	for _, name := range []string{"prismtop-moon.checkpoint.npz", "prismtop-moon-2.checkpoint.npz"} {
		if err := ask(r, profiles.CheckpointCommand); err != nil {
			t.Fatal(err)
		}
		logged(" in " + name)
		reopened(t, name)
	}
	do(t, r, profiles.PauseCommand)
	until(t, a, "a pause", func(s *profiles.Snapshot) bool { return s.State == profiles.Paused })
	if err := os.Mkdir("prismtop-moon-3.checkpoint.npz", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ask(r, profiles.CheckpointCommand); err != nil {
		t.Fatal(err)
	}
	logged(" in prismtop-moon-4.checkpoint.npz")
}

// A checkpoint on request is of its start: once another has begun, it is none of the run that ends.
func TestACheckpointIsOfItsStart(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Chdir(t.TempDir())
		r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "iterations=100000", "threshold=0", "threads=1")...)})
		until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
		asked := []profiles.CommandKind{profiles.CheckpointCommand, profiles.RestartCommand}
		want := "prismtop-moon.checkpoint.npz"
		if again {
			asked = append(asked, profiles.CheckpointCommand)
			want = "prismtop-moon-2.checkpoint.npz"
		}
		for _, kind := range asked {
			if err := ask(r, kind); err != nil {
				t.Fatal(err)
			}
		}
		until(t, a, "the restart", func(s *profiles.Snapshot) bool { return s.Run.PriorStarts == 1 && s.Index > 3 })
		r.Stop()
		if err := r.Wait(); err != nil {
			t.Fatal(err)
		}
		if written, missing := r.LastCheckpoint(); written.Path != want || written.Earlier == again || missing != nil {
			t.Errorf("%v: %+v, want %s (%v)", again, written, want, missing)
		}
		reopened(t, want)
	}
}

// A restart begins a new run, whose checkpoint is its own.
func TestARestartHasItsOwnCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.npz")
	r, a := start(t, Options{
		Maker: workloads.PRISM(workloads.Devices{}), Linger: true, Checkpoints: Checkpoints{Path: path},
		Settings: configured(t, append(small, "max_iterations=15", "threads=1")...),
	})
	for restarts := range 2 {
		until(t, a, "the end", func(s *profiles.Snapshot) bool { return s.State == profiles.Finished && s.Run.PriorStarts == restarts })
		if c := reopened(t, path); c.Iteration != 15 || c.Finished {
			t.Errorf("iteration %d, finished %v", c.Iteration, c.Finished)
		}
		if err := errors.Join(os.Remove(path), ask(r, profiles.RestartCommand)); err != nil {
			t.Fatal(err)
		}
	}
}
