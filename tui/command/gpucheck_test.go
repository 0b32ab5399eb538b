package command

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"prismtop/gpu/driver"
	"prismtop/gpu/emulator"
	"prismtop/profiles/export/schematest"
	"prismtop/profiles/machine"
	"prismtop/profiles/profilestest"
	"prismtop/sim/cpu"
	"prismtop/tui/doctor"
)

// checked is the check of an emulated GPU with the processor's backend, as doctor --gpu does it.
func checked(t *testing.T, o emulator.Options, found machine.GPU, device string) (*doctor.GPUCheck, string) {
	t.Helper()
	host, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	c := gpuCheck{driver: func() (driver.Driver, error) { return emulator.New(o), nil }, found: found, device: device, reference: host,
		sizes: [][2]int{{16, 8}}, iterations: 2, scale: 1000}
	r, err := c.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	facts := doctor.Gather(doctor.Options{Check: r})
	var text, document bytes.Buffer
	if err := errors.Join(facts.WriteText(&text), facts.WriteJSON(&document)); err != nil {
		t.Fatal(err)
	}
	if err := schematest.Validate("doctor", document.Bytes()); err != nil {
		t.Error(err)
	}
	return r, text.String()
}

// one is a machine with an emulated card.
var one = machine.GPU{Usable: true, CUDA: "13.0", Devices: []machine.GPUDevice{{Name: "Emulated GPU", Capability: "8.0"}}}

func TestAGPUThatIsWellIsReportedSo(t *testing.T) {
	profilestest.OneGoroutine(t)
	r, text := checked(t, emulator.Options{}, one, "cuda")
	if !r.OK || r.Reason != "" {
		t.Errorf("not OK: %s", r.Reason)
	}
	if len(r.Operators) < 40 || len(r.Trainings) != 5 || len(r.Modules) < 8 || len(r.Roofs) != 5 || r.TotalBytes == 0 {
		t.Errorf("%d operators, %d trainings, %d modules, %d roofs, %d bytes", len(r.Operators), len(r.Trainings), len(r.Modules), len(r.Roofs), r.TotalBytes)
	}
	for _, want := range []string{
		"gpu check  Emulated GPU · compute capability 8.0 · kernels sm_80", "kernels compiled in", "a launch takes", "in a graph", "roofs: copy", "bf16", "memory: 1.07 GB for programs",
		"operators, compared with cpu", "ConvTranspose2D            tf32", "MeasureGrad                off", "losses of trainings:", "16/8                       fp16", "all is well",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

func TestAGPUThatIsNotWellIsReportedWithTheReason(t *testing.T) {
	profilestest.OneGoroutine(t)
	for _, tt := range []struct {
		name string
		o    emulator.Options
		want []string
	}{
		{"a kernel that overruns", emulator.Options{Faults: []emulator.Fault{{Call: "cuGraphLaunch", N: 20, Result: 700}}}, []string{"not compared: ", "(700)", "NOT well: "}},
		{"kernels that do not compile", emulator.Options{Faults: []emulator.Fault{{Call: "cuModuleLoadData", Result: 222}}}, []string{"not measured: compiling the kernels: ", "not compared: ", "(222)"}},
		{"too little memory for the roofs", emulator.Options{Faults: []emulator.Fault{{Call: "cuMemAlloc", N: 1, Result: 2}}}, []string{"not measured: roofs: ", "(2)", "operators, compared with", "NOT well: not measured"}},
		{"no graphs", emulator.Options{Faults: []emulator.Fault{{Call: "cuStreamBeginCapture", Result: 900}}}, []string{"no graph could be captured", "all is well"}},
	} {
		r, text := checked(t, tt.o, one, "cuda")
		if r.OK != strings.Contains(text, "all is well") || r.OK != (r.Reason == "") {
			t.Errorf("%s: OK %v, %q", tt.name, r.OK, r.Reason)
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the report lacks %q:\n%s", tt.name, want, text)
			}
		}
	}
}

func TestAGPUThatIsNotThereIsNotChecked(t *testing.T) {
	for device, found := range map[string]machine.GPU{
		"cuda": {Reason: "no CUDA device: libcuda.so.1 not found"}, "cuda:1": one,
	} {
		r, text := checked(t, emulator.Options{}, found, device)
		if r.OK || r.Reason == "" || !strings.Contains(text, "gpu check  not done: "+r.Reason) {
			t.Errorf("%s: %+v\n%s", device, r, text)
		}
	}
}
