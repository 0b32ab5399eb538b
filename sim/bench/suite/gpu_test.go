package suite_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/export/schematest"
	"prismtop/profiles/settings"
	"prismtop/sim/bench/suite"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest/beside"
	"prismtop/sim/workloads"
)

// card is a GPU of the tests with memory of its own.
type card struct{ *beside.Backend }

func (card) DeviceMemory() profiles.DeviceMemory {
	return profiles.DeviceMemory{Device: "GPU-1", Allocated: 9 << 20, Context: 1 << 20}
}

// Load loads a plan whose inputs can be copied from others.
func (c card) Load(ctx context.Context, plan *nn.Plan, state nn.State) (nn.Executable, error) {
	exe, err := c.Backend.Load(ctx, plan, state)
	if err != nil {
		return nil, err
	}
	return &copying{exe, exe.(nn.Detailer), plan}, nil
}

// copying is an executable whose inputs can be copied from others.
type copying struct {
	nn.Executable
	nn.Detailer
	plan *nn.Plan
}

func (x *copying) Copy(to nn.BufferID, other nn.Executable, from nn.BufferID) error {
	values := make([]float32, x.plan.Buffers[to].Shape.Elements())
	other.Read(from, values)
	x.Write(to, values)
	return nil
}

// onGPU is small with a GPU of the tests.
func onGPU(t *testing.T) suite.Options {
	o := small(t)
	o.Maker = workloads.PRISM(workloads.Devices{GPU: func(string) (nn.Backend, error) {
		inner, err := cpu.New(cpu.Options{})
		if err != nil {
			return nil, err
		}
		return card{&beside.Backend{Backend: inner}}, nil
	}})
	o.GPU, o.GPUAbout, o.GPUReason = "Test GPU", "compute capability 8.0, driver 580.65.06, CUDA 13.0", ""
	settle := o.Settings
	o.Settings = func(name string, sets []settings.Assignment) (settings.Values, error) {
		return settle(name, slices.Concat([]settings.Assignment{{Key: "device", Value: "cuda"}, {Key: "samples", Value: "16"}}, sets))
	}
	return o
}

// On a GPU mixed precision is among the optimisations, the shares of steps are of the iterations that timed them, the memory of the GPU has a
// file, the durations on CUDA are measured, and the history does not take the entries for those of the processor.
func TestTheSuiteOnAGPU(t *testing.T) {
	s := suite.New(onGPU(t))
	s.Side("standard", suite.Documented, suite.Baseline, 1)
	s.Side("standard", suite.Documented, suite.Optimized, 1)
	s.Side("standard", suite.Everything, suite.Optimized, 1)
	s.Profile(nil, 1)
	s.Compare("standard", suite.Documented, 1)
	s.Compare("phase5", suite.Documented, 1)
	s.Effects("phase5", []string{"amp"}, 1)
	s.Inference("phase5", 1)
	r, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Machine; m.Device != "cuda" || m.GPU == nil || *m.GPU != "Test GPU" || !strings.Contains(m.GPUAbout, "driver 580") || m.GPUReason != "" {
		t.Errorf("the machine is %+v", m)
	}
	if r.Baseline.Settings["amp"] != "off" || r.Optimized.Settings["amp"] != "bf16" {
		t.Errorf("amp is %s and %s, want off and bf16", r.Baseline.Settings["amp"], r.Optimized.Settings["amp"])
	}
	if mode := r.Comparisons[0].Results[1][0].Settings["amp"]; mode != "fp16" {
		t.Errorf("the documents' optimised side has amp = %s, want fp16", mode)
	}
	if m := r.Inference.Metrics; m == nil || m.GPUMS.Median <= 0 || m.HostMS.Median <= 0 || m.IterationMS.Median <= 0 || m.Speedup.Low == nil {
		t.Errorf("metrics on the GPU: %+v", m)
	}
	p := r.Profile
	if p.Timed < 1 || p.Timed >= p.Iterations || len(p.Steps) == 0 {
		t.Errorf("%d of %d iterations timed %d steps", p.Timed, p.Iterations, len(p.Steps))
	}
	for _, step := range p.Steps {
		if of := step.MS / step.Share; step.Share > 0 && !(of < 1e3*p.Seconds) {
			t.Errorf("%s has its share of %.2f ms, all iterations took %.2f ms", step.Name, of, 1e3*p.Seconds)
		}
	}
	if g := p.GPU; g == nil || g.Total != 10<<20 || g.Peak != g.Total || r.Optimized.GPUBytes != g.Total {
		t.Errorf("memory of the GPU: %+v, %d bytes of a side", g, r.Optimized.GPUBytes)
	}
	names, data, err := r.Files(true)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, "cuda_memory_summary.txt") })
	if at < 0 || !bytes.Contains(data[at], []byte("10.49")) {
		t.Errorf("the files are %q", names)
	}
	if at := slices.Index(names, "benchmark.json"); schematest.Validate("benchmark", data[at]) != nil {
		t.Error(schematest.Validate("benchmark", data[at]))
	}
	for _, c := range r.Claims {
		switch c.ID {
		case "duration.baseline.cuda", "duration.optimized.cuda", "gpu.metrics", "guide.metrics":
			if c.Measured == nil {
				t.Errorf("%s is not measured: %s", c.ID, c.Where)
			}
		case "guide.ampere", "guide.modern":
			if c.Measured == nil {
				t.Errorf("%s is not measured: %s", c.ID, c.Where)
			}
		case "duration.baseline", "duration.optimized", "guide.cpu", "guide.turing", "guide.ada", "guide.a100", "guide.older":
			if c.Measured != nil {
				t.Errorf("%s: %+v", c.ID, c)
			}
		}
	}
	for _, e := range r.Entries() {
		if e.Machine.GPU != "Test GPU" || e.Machine.Same(e.Machine.Host()) || !e.Machine.Host().Same(e.Machine.Host()) {
			t.Errorf("the entry's machine is %+v", e.Machine)
		}
	}
}
