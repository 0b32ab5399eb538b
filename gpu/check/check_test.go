package check

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"prismtop/gpu/driver"
	"prismtop/gpu/driver/installed"
	"prismtop/gpu/emulator"
	"prismtop/gpu/kernels"
)

func TestADeviceIsMeasured(t *testing.T) {
	for _, capability := range []int{75, 80} {
		d := emulator.New(emulator.Options{Devices: []emulator.DeviceOptions{{Name: "Card", Capability: capability, Memory: 64 << 20}}})
		r, err := Run(t.Context(), d, Options{Scale: 1000})
		if err != nil {
			t.Fatal(err)
		}
		set, _ := kernels.For(capability)
		modules, _ := set.Modules()
		if r.Name != "Card" || r.Set != set.Name || len(r.Modules) != len(slices.DeleteFunc(modules, func(m kernels.Module) bool { return len(m.Kernels()) == 0 })) || r.Memory.Total != 64<<20 || r.Memory.Free <= 0 {
			t.Errorf("capability %d: %+v", capability, r)
		}
		for _, m := range r.Modules {
			if m.Kernels == 0 || m.Compile <= 0 {
				t.Errorf("module %+v", m)
			}
		}
		want := "copy fp32 tf32 bf16 fp16"
		if capability < 80 {
			want = "copy fp32"
		}
		var names []string
		for _, roof := range r.Roofs {
			names = append(names, roof.Name)
			if roof.Value <= 0 {
				t.Errorf("%+v", roof)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("capability %d: roofs %s, want %s", capability, got, want)
		}
		if r.Launch.Eager <= 0 || r.Launch.Graph <= 0 {
			t.Errorf("launches: %+v", r.Launch)
		}
		if err := d.Close(); err != nil { // reports what was not freed
			t.Error(err)
		}
	}
}

func TestWhatFailsIsNamed(t *testing.T) {
	for _, tt := range []struct {
		fault emulator.Fault
		want  string
	}{
		{emulator.Fault{Call: "cuInit", Result: 803}, "the context: cuInit: "},
		{emulator.Fault{Call: "cuModuleLoadData", N: 1, Result: 222}, "compiling the kernels: "},
		{emulator.Fault{Kernel: "roof_nothing", N: 1, Result: 719}, "launches: "},
		{emulator.Fault{Kernel: "roof_fma", N: 1, Result: 700}, "roofs: fp32: "},
		{emulator.Fault{Call: "cuMemAlloc", N: 1, Result: 2}, "roofs: "},
	} {
		_, err := Run(t.Context(), emulator.New(emulator.Options{Faults: []emulator.Fault{tt.fault}}), Options{Scale: 1000})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || driver.As(err) != tt.fault.Result {
			t.Errorf("%+v: error %v, want %q", tt.fault, err, tt.want)
		}
	}
}

// ungraphed is a driver whose library lacks the functions for graphs.
type ungraphed struct{ driver.Driver }

func (ungraphed) StreamBeginCapture(driver.Stream) error { return driver.ErrMissing }

func TestADriverWithoutGraphsIsMeasured(t *testing.T) {
	refusing := func(result driver.Result) driver.Driver {
		return emulator.New(emulator.Options{Faults: []emulator.Fault{{Call: "cuStreamBeginCapture", Result: result}}})
	}
	for _, d := range []driver.Driver{refusing(900), refusing(801), ungraphed{emulator.New(emulator.Options{})}} {
		r, err := Run(t.Context(), d, Options{Scale: 1000})
		if err != nil || r.Launch.Graph != 0 || r.Launch.Eager <= 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestAFullDeviceIsOutOfMemory(t *testing.T) {
	d := emulator.New(emulator.Options{Devices: []emulator.DeviceOptions{{Memory: 1 << 20}}})
	if _, err := Run(t.Context(), d, Options{Scale: 1000}); err == nil || !strings.HasPrefix(err.Error(), "roofs: out of memory: ") {
		t.Errorf("error %v", err)
	}
}

func TestAContextEndsTheMeasurement(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, emulator.New(emulator.Options{}), Options{Scale: 1000, Progress: func(what string) {
		if what == "roofs" {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestGPUIsMeasured(t *testing.T) {
	d, err := installed.Open()
	if err != nil {
		t.Skip("no GPU to test on: ", err)
	}
	r, err := Run(t.Context(), d, Options{})
	if driver.As(err).Class() == driver.Absent {
		t.Skip("no GPU to test on: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
}
