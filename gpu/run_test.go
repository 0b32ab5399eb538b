package gpu_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/gpu"
	"prismtop/gpu/cuda"
	"prismtop/gpu/driver"
	"prismtop/gpu/emulator"
	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// tiny is a reconstruction that an emulated GPU iterates in milliseconds.
var tiny = []string{"size=16", "object_size=8", "radius=3", "roi_diameter=10", "samples=3", "passes=1", "iterations=4", "cycles=1", "init_iterations=3", "init_cycles=1",
	"threshold=0", "channels=", "latent=8", "threads=1"}

// emulated are devices whose GPU is an emulated one.
func emulated(o emulator.Options) (workloads.Devices, *emulator.Driver) {
	d := emulator.New(o)
	return workloads.Devices{GPU: func(string) (nn.Backend, error) {
		b, err := cuda.Open(d, cuda.Options{})
		if err != nil {
			return nil, err
		}
		return b, nil
	}}, d
}

// start makes a run, which its caller steps.
func start(t *testing.T, d workloads.Devices, sets ...string) (*sim.Run, *aggregate.Aggregator, error) {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Sets: slices.Concat(tiny, sets)})
	if err != nil {
		t.Fatal(err)
	}
	events := stream.New(1 << 10)
	r, err := sim.New(t.Context(), sim.Options{Maker: workloads.PRISM(d), Settings: v, Stream: events})
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(r.Close)
	return r, aggregate.New(events.Follow(), aggregate.Options{}), nil
}

// noGPUs are the devices of a machine without GPUs.
var noGPUs workloads.Devices

// onReal are devices whose GPU is one of the machine's.
func onReal(ordinal int) workloads.Devices {
	return workloads.Devices{GPU: func(string) (nn.Backend, error) { return gpu.Open(ordinal) }}
}

// begun is start for a run that begins without an error.
func begun(t *testing.T, d workloads.Devices, sets ...string) *sim.Run {
	t.Helper()
	r, _, err := start(t, d, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// losses runs to the end and returns the losses.
func losses(t *testing.T, r *sim.Run) (all []float64) {
	t.Helper()
	last := int64(-1)
	for {
		rec, done, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if rec != nil && rec.Index > last {
			last, all = rec.Index, append(all, rec.Series[prism.SeriesLossNew])
		}
		if done {
			return all
		}
	}
}

func logged(a *aggregate.Aggregator) (text string, s *profiles.Snapshot) {
	s = a.Tick(time.Now())
	for _, line := range s.Log {
		text += line.Text + "\n"
	}
	return text, s
}

// apart returns the largest relative difference of two curves.
func apart(a, b []float64) float64 {
	most := math.Abs(float64(len(a) - len(b)))
	for i := range min(len(a), len(b)) {
		most = max(most, math.Abs(a[i]-b[i])/max(math.Abs(b[i]), 1e-6))
	}
	return most
}

func TestARunOnAGPUFollowsTheProcessors(t *testing.T) {
	r, _, err := start(t, workloads.Devices{}, "device=cpu")
	if err != nil {
		t.Fatal(err)
	}
	want := losses(t, r)
	for _, sets := range [][]string{nil, {"amp=bf16x3"}, {"fused_telescope=false", "fused_optimizer=true"}} {
		d, _ := emulated(emulator.Options{})
		r, a, err := start(t, d, append(sets, "device=cuda")...)
		if err != nil {
			t.Fatal(sets, err)
		}
		got := losses(t, r)
		if far := apart(got, want); !(far < 0.02) {
			t.Errorf("%v: the losses are %.3g apart: %v, want %v", sets, far, got, want)
		}
		text, s := logged(a)
		if s.Run.Device != "cuda" || s.Run.Failed != "" {
			t.Errorf("%v: on %q: %s", sets, s.Run.Device, text)
		}
		if m := s.Memory.Device; !strings.HasPrefix(m.Device, "GPU-") || m.Weights <= 0 || m.Allocated < m.Weights+m.Moments+m.Activations || m.Spare() < 0 {
			t.Errorf("%v: memory of the device: %+v", sets, m)
		}
	}
}

// A driver or a device that cannot be used is found before anything is started on it.
func TestFaultsThatTheProbeFinds(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    emulator.Options
		want string
	}{
		{"no device", emulator.Options{Faults: []emulator.Fault{{Call: "cuInit", Result: 100}}}, "no CUDA device: cuInit: the driver finds no device (100)"},
		{"library and module differ", emulator.Options{Faults: []emulator.Fault{{Call: "cuInit", Result: 803}}}, "reboot or reload the module (803)"},
		{"an old driver", emulator.Options{DriverVersion: 10010}, "the driver is too old for the kernels: it has CUDA 10.1, they need 11.0"},
		{"an old card", emulator.Options{Devices: []emulator.DeviceOptions{{Name: "Old", Capability: 61}}}, "Old: compute capability 6.1: the kernels need 7.5 or later"},
	} {
		found := gpu.ProbeWith(func() (driver.Driver, error) { return emulator.New(tt.o), nil })
		if found.Usable || !strings.Contains(found.Reason, tt.want) {
			t.Errorf("%s: %+v, want %q", tt.name, found, tt.want)
		}
	}
	found := gpu.ProbeWith(func() (driver.Driver, error) { return emulator.New(emulator.Options{}), nil })
	if !found.Usable || found.Reason != "" || len(found.Devices) != 1 {
		t.Errorf("a device that works: %+v", found)
	}
}

// What fails when a run begins: device = cuda is an error that says why, and device = auto is on the processor with the
// reason in the log.
func TestFaultsAtTheStart(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    emulator.Options
		want []string
	}{
		{"no device", emulator.Options{Faults: []emulator.Fault{{Call: "cuInit", Result: 100}}}, []string{"(100)"}},
		{"library and module differ", emulator.Options{Faults: []emulator.Fault{{Call: "cuInit", Result: 803}}}, []string{"(803)"}},
		{"PTX too new", emulator.Options{ISA: 65}, []string{"(222)"}},
		{"PTX refused", emulator.Options{Faults: []emulator.Fault{{Call: "cuModuleLoadData", N: 2, Result: 222}}}, []string{"compiling the kernels", "(222)"}},
		{"memory for the weights", emulator.Options{Faults: []emulator.Fault{{Call: "cuMemAlloc", N: 2, Result: 2}}}, []string{"too little memory for the weights", "a smaller size or object_size needs less"}},
		{"memory for the layers", emulator.Options{Faults: []emulator.Fault{{Call: "cuMemAlloc", N: 3, Result: 2}}}, []string{"too little memory", "GB free; a smaller size or object_size needs less"}},
		{"an overrun in the first kernel", emulator.Options{Faults: []emulator.Fault{{Kernel: "fill", N: 1, Result: 700}}}, []string{"(700)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := emulated(tt.o)
			_, _, err := start(t, d, "device=cuda")
			var lacking *workload.LackingError
			if !errors.As(err, &lacking) || !strings.HasPrefix(err.Error(), "device = cuda: ") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("device = cuda: error %v", err)
			}
			d, _ = emulated(tt.o)
			r, a, failed := start(t, d, "device=auto")
			if failed != nil {
				t.Fatalf("device = auto: %v", failed)
			}
			losses(t, r)
			text, s := logged(a)
			if s.Run.Device != "cpu" || !strings.Contains(text, "computed on the CPU: ") {
				t.Errorf("device = auto: on %q: %s", s.Run.Device, text)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) || !strings.Contains(text, want) {
					t.Errorf("%q is missing in %q or in the log: %s", want, err, text)
				}
			}
		})
	}
}

// What fails while a run iterates ends the GPU's part in it, not the run.
func TestFaultsWhileRunning(t *testing.T) {
	r, _, err := start(t, workloads.Devices{}, "device=cpu")
	if err != nil {
		t.Fatal(err)
	}
	want := losses(t, r)
	for _, tt := range []struct {
		name  string
		fault emulator.Fault
		says  string
	}{
		{"an overrun in a kernel", emulator.Fault{Kernel: "gather", N: 9, Result: 700}, "(700)"},
		{"an overrun in the first iteration", emulator.Fault{Kernel: "gather", N: 1, Result: 700}, "(700)"},
		{"a kernel that fails", emulator.Fault{Kernel: "gather", N: 12, Result: 719}, "(719)"},
		{"memory", emulator.Fault{Call: "cuGraphLaunch", N: 20, Result: 2}, "has too little memory for a segment of the plan: "},
		{"an unknown error", emulator.Fault{Call: "cuGraphLaunch", N: 20, Result: 999}, "(999)"},
		{"a copy", emulator.Fault{Call: "cuMemcpyDtoHAsync", N: 40, Result: 700}, "(700)"},
		{"the events", emulator.Fault{Call: "cuEventQuery", N: 30, Result: 700}, "(700)"},
		{"the context", emulator.Fault{Call: "cuCtxSetCurrent", N: 200, Result: 700}, "(700)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, driver := emulated(emulator.Options{})
			r, a, err := start(t, d, "device=cuda")
			if err != nil {
				t.Fatal(err)
			}
			driver.Inject(tt.fault)
			got := losses(t, r)
			text, s := logged(a)
			if s.Run.Device != "cpu" || s.Settings.Text(settings.Device) != "cpu" || !strings.Contains(s.Run.Failed, tt.says) ||
				!strings.Contains(s.Run.Failed, "continuing on the CPU") || !strings.Contains(text, s.Run.Failed) {
				t.Fatalf("on %q after %q: %s", s.Run.Device, s.Run.Failed, text)
			}
			if len(got) < len(want) || !(apart(got[len(got)-1:], want[len(want)-1:]) < 0.05) {
				t.Errorf("the run ended with %v, want %v", got, want)
			}
		})
	}
}

// What is kept for a setting's other value is not part of what the run holds: that depends on the setting alone.
func TestMemoryThatIsKeptIsNoEffect(t *testing.T) {
	d, _ := emulated(emulator.Options{})
	r, a, err := start(t, d, "device=cuda", "init_iterations=9") // of one plan
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]int64{}
	for i, value := range []string{"off", "bf16", "off", "bf16", "off"} {
		if err := r.Set("amp", value); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		m := a.Tick(time.Now()).Memory
		m.Parts, m.Caches = [profiles.MaxMemory]int64{}, 0 // the device's only
		schema, run := prism.Schema(), m.Device
		now := run.Allocated - run.Spare() + m.Held(&schema) // with an unknown context
		if was, ok := held[value]; ok && now != was {
			t.Errorf("%s: %d bytes are held at change %d, %d before", value, now, i, was)
		}
		if held[value] = now; (run.Kept > 0) != (i > 1) || // the arena of off is too small for bf16
			now != run.Allocated-run.Kept {
			t.Errorf("%s: %d bytes are kept at change %d, and %d of %d held", value, run.Kept, i, now, run.Allocated)
		}
	}
	if held["off"] == held["bf16"] {
		t.Errorf("either value takes %d bytes", held["off"])
	}
}

// A change during the run that the GPU cannot take leaves the run as it was.
func TestFaultsOfAChange(t *testing.T) {
	for _, tt := range []struct {
		name, from, key, value string
		fault                  emulator.Fault
		says                   string
	}{
		{"to a GPU without memory", "cpu", "device", "cuda", emulator.Fault{Call: "cuMemAlloc", N: 3, Result: 2}, "device stays cpu: "},
		{"to a GPU whose driver is too old", "cpu", "device", "cuda", emulator.Fault{Call: "cuModuleLoadData", N: 1, Result: 222}, "device stays cpu: "},
		{"to a GPU that is not there", "cpu", "device", "cuda", emulator.Fault{Call: "cuInit", N: 1, Result: 100}, "device stays cpu: "},
		{"a plan that is too large", "cuda", "checkpointing", "true", emulator.Fault{Call: "cuMemAlloc", N: 1, Result: 2}, "checkpointing stays false: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, driver := emulated(emulator.Options{})
			r, a, err := start(t, d, "device="+tt.from, "max_iterations=9")
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, _, err := r.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			driver.Inject(tt.fault)
			if tt.from == "cuda" { // too large without the plans that are kept, too
				tt.fault.N++
				driver.Inject(tt.fault)
			}
			if err := r.Set(tt.key, tt.value); err != nil {
				t.Fatal(err)
			}
			if got := losses(t, r); len(got) != 6 {
				t.Errorf("%d iterations followed, want 6", len(got))
			}
			kind := "cpu"
			if tt.from == "cuda" {
				kind = "cuda"
			}
			if text, s := logged(a); s.Run.Device != kind || s.Run.Failed != "" || !strings.Contains(text, tt.says) || s.Settings.Text(settings.Device) != tt.from {
				t.Errorf("on %q, failed %q: %s", s.Run.Device, s.Run.Failed, text)
			}
		})
	}
}

// Without graphs the kernels are enqueued one by one, and the log says why.
func TestACaptureThatFailsLeavesTheRunOnTheGPU(t *testing.T) {
	for call, n := range map[string]int{"cuStreamBeginCapture": 0, "cuLaunchKernel": 3, "cuGraphInstantiate": 0} {
		d, _ := emulated(emulator.Options{Faults: []emulator.Fault{{Call: call, N: n, Result: 900}}})
		r, a, err := start(t, d, "device=cuda")
		if err != nil {
			t.Errorf("%s: %v", call, err)
			continue
		}
		losses(t, r)
		if text, s := logged(a); s.Run.Device != "cuda" || s.Run.Failed != "" || !strings.Contains(text, "no graph could be captured") || !strings.Contains(text, "(900)") {
			t.Errorf("%s: on %q, failed %q: %s", call, s.Run.Device, s.Run.Failed, text)
		}
	}
}
