package prism_test

import (
	"context"
	"slices"
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
