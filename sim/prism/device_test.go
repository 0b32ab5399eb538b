package prism_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/host"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest/beside"
	"prismtop/sim/prism"
)

// numbered is a backend whose steps take known times: step i of run n of its segment takes n·1000+i ns.
type numbered struct{ nn.Backend }

func (b numbered) Load(ctx context.Context, plan *nn.Plan, s nn.State) (nn.Executable, error) {
	exe, err := b.Backend.Load(ctx, plan, s)
	if err != nil {
		return nil, err
	}
	return &numberedExecutable{Executable: exe, plan: plan, nanos: make([]int64, len(plan.Steps))}, nil
}

type numberedExecutable struct {
	nn.Executable
	plan  *nn.Plan
	runs  [nn.NumSegments]int64
	nanos []int64
}

func (x *numberedExecutable) Run(ctx context.Context, s nn.Segment) error {
	x.runs[s]++
	for i := x.plan.Segments[s][0]; i < x.plan.Segments[s][1]; i++ {
		x.nanos[i] = 1000*x.runs[s] + int64(i)
	}
	return x.Executable.Run(ctx, s)
}

func (x *numberedExecutable) StepNanos() []int64 { return x.nanos }

// onNumbered is a reconstruction on such a backend, beside the processor or as the processor.
func onNumbered(t *testing.T, asGPU bool, sets ...string) *prism.Reconstruction {
	t.Helper()
	s, object := resolved(t, "", slices.Concat(steadySettings, sets)...)
	plans := host.NewPlanCache(s.FFTCache, nil)
	processor, err := cpu.New(cpu.Options{Threads: 1, FFTPlans: plans})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(processor.Close)
	device := prism.Device{Backend: numbered{processor}, Host: host.New(host.Options{
		Kernels: processor.Set(), Plans: plans, Parallel: processor.Parallel(), Attach: processor.Attach,
	})}
	if asGPU {
		device.Backend, device.Processor = &beside.Backend{Backend: device.Backend}, processor
	}
	r, err := prism.New(t.Context(), s, object, device)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// times returns the time of run n of a phase's steps.
func times(r *prism.Reconstruction, phase profiles.Phase, n int64) (sum int64) {
	steps := prism.PlanSteps(r)
	for i, step := range steps {
		if prism.RecordedPhase(step.Phase) == phase {
			sum += 1000*n + int64(i)
		}
	}
	return sum
}

// The times of a plan's steps are in an iteration's record: on the processor those of the iteration.
func TestPhasesAreTheTimesOfTheirSteps(t *testing.T) {
	r := onNumbered(t, false, "iterations=6")
	rec := new(profiles.Iteration)
	for n := int64(1); n <= 3; n++ {
		iterate(t, r, rec)
		for phase, name := range map[profiles.Phase]string{prism.PhaseForward: "forward", prism.PhaseBackward: "backward", prism.PhaseOptimizer: "optimizer"} {
			if want := times(r, phase, n); rec.Phases[phase] != want {
				t.Errorf("iteration %d: %s took %d ns, want %d", n, name, rec.Phases[phase], want)
			}
		}
	}
}

// On a device that computes beside the host, an update's times are those of the iteration before, and the layer profile
// has the iterations alone that time every step, which are not compared with others.
func TestPhasesOfAGPUAreOfTheNewestRunsThatEnded(t *testing.T) {
	r := onNumbered(t, true, "iterations=200", "layer_profile=true")
	rec := new(profiles.Iteration)
	var detailed []int64
	for n := int64(1); n <= 120; n++ {
		iterate(t, r, rec)
		steps, nanos := r.Steps()
		ended := n - 1
		if len(steps) > 0 {
			detailed, ended = append(detailed, n), n
			if len(nanos) != len(steps) {
				t.Fatalf("%d times of %d steps", len(nanos), len(steps))
			}
			if rec.Flags&profiles.Warmup == 0 {
				t.Errorf("iteration %d is compared with others", n)
			}
		}
		want := int64(0)
		if ended > 0 {
			want = times(r, prism.PhaseOptimizer, ended)
		}
		if rec.Phases[prism.PhaseOptimizer] != want {
			t.Errorf("iteration %d: the optimizer took %d ns, want %d", n, rec.Phases[prism.PhaseOptimizer], want)
		}
		if want := times(r, prism.PhaseForward, n); rec.Phases[prism.PhaseForward] != want {
			t.Errorf("iteration %d: forward took %d ns, want %d", n, rec.Phases[prism.PhaseForward], want)
		}
	}
	if !slices.Equal(detailed, []int64{11, 61, 111}) {
		t.Errorf("iterations %v timed every step", detailed)
	}
}

// Nothing is timed step by step while nobody looks or the profile is off.
func TestAGPUIsProfiledWhileItIsWatched(t *testing.T) {
	for name, profile := range map[string]string{"off": "layer_profile=false", "unwatched": "layer_profile=true"} {
		r := onNumbered(t, true, "iterations=200", profile)
		for range 20 {
			rec := new(profiles.Iteration)
			if name == "unwatched" {
				rec.Flags = profiles.Unwatched
			}
			if _, err := r.Iterate(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
			if steps, _ := r.Steps(); len(steps) > 0 {
				t.Fatalf("%s: steps were timed one by one", name)
			}
		}
	}
}

// besides is a reconstruction on a device that can fail.
func besides(t *testing.T, sets ...string) (*prism.Reconstruction, *beside.Backend) {
	t.Helper()
	s, object := resolved(t, "", slices.Concat(steadySettings, sets)...)
	device, backend := movable(t, &s)
	device.Backend = backend
	r, err := prism.New(t.Context(), s, object, device)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, backend
}

// movable is a processor with a GPU beside it, which is open.
func movable(t *testing.T, s *prism.Settings) (prism.Device, *beside.Backend) {
	t.Helper()
	plans := host.NewPlanCache(s.FFTCache, nil)
	processor, err := cpu.New(cpu.Options{Threads: 1, FFTPlans: plans})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(processor.Close)
	backend := &beside.Backend{Backend: processor}
	return prism.Device{Backend: processor, Processor: processor, Host: host.New(host.Options{
		Kernels: processor.Set(), Plans: plans, Parallel: processor.Parallel(), Attach: processor.Attach,
	})}, backend
}

// What could not be read is not passed off as the newest.
func TestFailedReadsAreReported(t *testing.T) {
	broken := errors.New("cuMemcpyDtoH: an unknown error (999)")
	r, gpu := besides(t, "iterations=200")
	fail := func(operation string) error {
		if operation == "read" {
			return broken
		}
		return nil
	}
	rec := new(profiles.Iteration)
	iterate(t, r, rec)
	gpu.Fault = fail
	if _, err := r.Quality(t.Context()); !errors.Is(err, broken) {
		t.Errorf("quality: error %v", err)
	}
	if _, err := r.Final(t.Context(), prism.TrainingForm); !errors.Is(err, broken) {
		t.Errorf("final pass: error %v", err)
	}
	for name, unread := range map[string]func() bool{
		"picture":       func() bool { return r.Picture(prism.PictureReconstruction) == nil },
		"gradient norm": func() bool { _, known := r.GradientNorm(); return !known },
		"output":        func() bool { r.Output(); return true },
	} {
		gpu.Fault = fail
		if !unread() {
			t.Errorf("the %s was not read, and is there", name)
		}
		gpu.Fault = nil
		if _, err := r.Iterate(t.Context(), rec); !errors.Is(err, broken) {
			t.Errorf("%s: the next iteration's error is %v", name, err)
		}
	}
	gpu.Fault = nil
	iterate(t, r, rec)
	was := slices.Clone(r.Output())
	iterate(t, r, rec)
	gpu.Fault = fail
	if got := r.Output(); !slices.Equal(got, was) {
		t.Error("an output that could not be read replaced the one before")
	}
	gpu.Fault = nil
	if _, err := r.Checkpoint(t.Context()); !errors.Is(err, broken) {
		t.Errorf("checkpoint: error %v", err)
	}
	if got := r.Output(); slices.Equal(got, was) {
		t.Error("the output is not read again")
	}
}

// The end of the run cuts a kernel short that never ends, and an older output can be read.
func TestTheEndOfARunDoesNotWaitForAKernel(t *testing.T) {
	r, gpu := besides(t, "iterations=200")
	rec := new(profiles.Iteration)
	for range 3 {
		iterate(t, r, rec)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gpu.Hang = cancel
	if _, err := r.Iterate(ctx, rec); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	gpu.Fault = func(operation string) error {
		if operation == "read" {
			t.Error("the device is read")
		}
		return nil
	}
	if r.Output() == nil {
		t.Error("no output")
	}
}

// On a GPU no skipped step is lost, and the scale is known from the first iteration of a plan on.
func TestSkippedStepsOnAGPU(t *testing.T) {
	run := func(asGPU bool) (skipped int) {
		r := onNumbered(t, asGPU, "amp=fp16", "iterations=4", "cycles=1", "init_iterations=5", "samples=3", "threshold=0")
		for n := 0; ; n++ {
			scale := float32(1 << 10)
			if slices.Contains([]int{0, 3, 4, 7, 8, 10, 12, 16}, n) { // the last of the phase and of each sample are 4, 8, 12, 16
				scale = 1 << 40
			}
			prism.SetScale(r, scale)
			rec := new(profiles.Iteration)
			out, err := r.Iterate(t.Context(), rec)
			if err != nil {
				t.Fatal(err)
			}
			if rec.Flags&profiles.SkippedStep != 0 {
				skipped++
			}
			if rec.Series[prism.SeriesGradientScale] <= 0 {
				t.Errorf("on a GPU %v: the scale of iteration %d is %g", asGPU, n, rec.Series[prism.SeriesGradientScale])
			}
			if out.Finished {
				return skipped
			}
		}
	}
	want, got := run(false), run(true)
	if want != 8 || got != want {
		t.Errorf("%d steps are recorded as skipped on a GPU, %d on the CPU, want 8", got, want)
	}
}

// A mark keeps further copies only where a device may fail, and leaves none behind.
func TestAMarkKeepsCopiesWhereADeviceMayFail(t *testing.T) {
	for _, usable := range []string{"cpu", "cuda:0"} {
		s, object := resolved(t, "", slices.Concat(steadySettings, []string{"iterations=200"})...)
		device, gpu := movable(t, &s)
		device.Resolve = func(string) string { return usable }
		device.Open = func(string) (nn.Backend, string, error) { return gpu, "", nil }
		r, err := prism.New(t.Context(), s, object, device)
		if err != nil {
			t.Fatal(err)
		}
		rec := new(profiles.Iteration)
		for range 2 {
			iterate(t, r, rec)
		}
		for rec.Kind == prism.KindInitialisation || rec.InUnit == 0 {
			iterate(t, r, rec)
		}
		before := r.Memory()
		if err := r.Mark(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m := r.Memory(); (m.Total() > before.Total()) != (usable != "cpu") {
			t.Errorf("auto = %s: marked, the run holds %d bytes, before %d", usable, m.Total(), before.Total())
		}
		r.Unmark()
		if m := r.Memory(); m.Total() != before.Total() {
			t.Errorf("auto = %s: after the mark the run holds %d bytes, before %d", usable, m.Total(), before.Total())
		}
		r.Close()
	}
}

// Errors that are not the device's do not name it.
func TestOnlyErrorsOfTheDeviceNameIt(t *testing.T) {
	s, object := resolved(t, "", slices.Concat(steadySettings, []string{"device=cuda"})...)
	for name, wanted := range map[string]bool{"device": true, "decoder": false} {
		m := prism.Maker{Open: func(s *prism.Settings) (prism.Device, error) {
			device, gpu := movable(t, s)
			gpu.Fault = func(operation string) error {
				if name == "device" && operation == "load" {
					return &beside.MemoryError{}
				}
				return nil
			}
			device.Backend = gpu
			return device, nil
		}}
		v := s.Values()
		if name == "decoder" {
			var err error
			if v, err = v.Set("channels", "3,5"); err != nil {
				t.Fatal(err)
			}
		}
		_, err := m.New(t.Context(), v, prism.Inputs{Object: object})
		if err == nil || strings.HasPrefix(err.Error(), "device = cuda: ") != wanted {
			t.Errorf("%s: error %v", name, err)
		}
		if wanted && !strings.HasSuffix(err.Error(), "a smaller size or object_size needs less; device = cpu uses no GPU memory") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
