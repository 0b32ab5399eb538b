//go:build linux && !nogpu

package monitor

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/gpu/library/librarytest"
	"prismtop/gpu/nvml"
	"prismtop/profiles/machine"
)

// build compiles NVML's stand-in.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	return librarytest.Build(t, "../nvml/testdata/libnvidia-ml.c", flags...)
}

// libraryVariable names the library that a process of this test reads instead of running tests: the library sees the
// environment that the process was started with, not what Setenv changes.
const libraryVariable = "NVML_LIBRARY"

func TestMain(m *testing.M) {
	if path := os.Getenv(libraryVariable); path != "" {
		l, err := nvml.OpenFrom(path)
		if err := json.NewEncoder(os.Stdout).Encode(read(sensors{l}, err, machine.Missing("not read"), time.Now).Sensors); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// readIn returns a reading of a library by a process with further variables.
func readIn(t *testing.T, library string, env ...string) (s machine.Sensors) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), libraryVariable+"="+library), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", env, err, out)
	}
	return s
}

func TestEverySensorIsRead(t *testing.T) {
	s := readIn(t, build(t))
	if s.Reason != "" || len(s.GPUs) != 2 {
		t.Fatalf("%+v", s)
	}
	g := &s.GPUs[0]
	const mib = 1 << 20
	if g.Name != "NVIDIA H100 80GB HBM3" || g.UUID != "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f" {
		t.Errorf("%q %q", g.Name, g.UUID)
	}
	for name, c := range map[string]struct {
		got  machine.Gauge
		want float64
	}{
		"memory used": {g.MemoryUsed, 624 * mib}, "total": {g.MemoryTotal, 81559 * mib}, "reserved": {g.MemoryReserved, 565 * mib},
		"utilisation": {g.Utilisation, 0.37}, "of memory": {g.MemoryUtilisation, 0.12},
		"power": {g.Power, 73.25}, "limit": {g.PowerLimit, 700}, "energy": {g.Energy, 5073.25}, "temperature": {g.Temperature, 41},
		"graphics": {g.GraphicsClock, 345}, "most": {g.MaxGraphicsClock, 1980}, "SM": {g.SMClock, 345}, "most of SM": {g.MaxSMClock, 1980},
		"memory clock": {g.MemoryClock, 2619}, "most of it": {g.MaxMemoryClock, 2619},
		"received": {g.Received, 2.5e6}, "sent": {g.Sent, 8.5e5}, "generation": {g.LinkGeneration, 5}, "width": {g.LinkWidth, 16},
	} {
		if !c.got.Known || math.Abs(c.got.Value-c.want) > 1e-9*c.want {
			t.Errorf("%s: %+v, want %g", name, c.got, c.want)
		}
	}
	if g.Fan.Known || g.Fan.Reason != "NVML: not supported on this device (3)" {
		t.Errorf("fan: %+v", g.Fan)
	}
	if !slices.Equal(g.Throttle, []string{"idle"}) || g.ThrottleReason != "" {
		t.Errorf("throttle: %q %q", g.Throttle, g.ThrottleReason)
	}
	if len(g.Processes) != 2 || g.Processes[0].ID != s.Process || g.Processes[0].Bytes.Value != 522*mib {
		t.Errorf("processes: %+v", g.Processes)
	}
	if o := g.Others(s.Process, 500*mib); o.Value != 102*mib {
		t.Errorf("others: %+v", o)
	}
}

// One missing sensor hides no other.
func TestAMissingSensorHidesNoOther(t *testing.T) {
	lib := build(t)
	all := readIn(t, lib).GPUs[0]
	for _, c := range []struct {
		fault string
		field func(*machine.GPUSensors) *machine.Gauge
		want  string
	}{
		{"GetPowerUsage:4", func(g *machine.GPUSensors) *machine.Gauge { return &g.Power }, "NVML: no permission (4)"},
		{"GetTotalEnergyConsumption:3", func(g *machine.GPUSensors) *machine.Gauge { return &g.Energy }, "NVML: not supported on this device (3)"},
		{"GetTemperature:999", func(g *machine.GPUSensors) *machine.Gauge { return &g.Temperature }, "NVML: unknown error (999)"},
		{"GetEnforcedPowerLimit:77", func(g *machine.GPUSensors) *machine.Gauge { return &g.PowerLimit }, "NVML error 77"},
		{"GetCurrPcieLinkWidth:13", func(g *machine.GPUSensors) *machine.Gauge { return &g.LinkWidth }, "NVML: the driver lacks the function (13)"},
	} {
		got := readIn(t, lib, "NVML_FAULT="+c.fault).GPUs[0]
		if f := c.field(&got); f.Known || f.Reason != c.want {
			t.Errorf("%s: %+v, want %q", c.fault, *f, c.want)
		}
		*c.field(&got) = *c.field(&all)
		for i, f := range got.Gauges() {
			if want := *all.Gauges()[i]; *f != want {
				t.Errorf("%s: sensor %d is %+v, want %+v", c.fault, i, *f, want)
			}
		}
	}
	got := readIn(t, lib, "NVML_FAULT=GetUtilizationRates:3,GetComputeRunningProcesses:4,GetCurrentClocksEventReasons:3,GetName:999").GPUs[0]
	if got.Utilisation.Known || got.MemoryUtilisation.Known || got.Name != "" || got.ProcessesReason != "NVML: no permission (4)" ||
		got.ThrottleReason != "NVML: not supported on this device (3)" || got.Power != all.Power {
		t.Errorf("%+v", got)
	}
	// Without the newer call, the used memory includes the reserved.
	got = readIn(t, lib, "NVML_FAULT=GetMemoryInfo_v2:3").GPUs[0]
	if got.MemoryReserved.Known || got.MemoryUsed.Value != all.MemoryUsed.Value+all.MemoryReserved.Value || got.MemoryTotal != all.MemoryTotal {
		t.Errorf("used %+v, reserved %+v", got.MemoryUsed, got.MemoryReserved)
	}
}

func TestAPartitionSaysWhatItRefuses(t *testing.T) {
	s := readIn(t, build(t))
	g := &s.GPUs[1]
	for _, f := range []machine.Gauge{g.Power, g.Energy, g.Utilisation, g.GraphicsClock, g.Sent, g.Temperature} {
		if f.Known || f.Reason != "NVML: not supported on this device (3)" {
			t.Errorf("%+v", f)
		}
	}
	if !g.MemoryUsed.Known || len(g.Processes) != 1 || g.Processes[0].Bytes.Known {
		t.Errorf("%+v", g)
	}
	if o := g.Others(s.Process, 0); o.Known || o.Reason == "" {
		t.Errorf("others: %+v", o)
	}
}

func TestProcessesOfAContainer(t *testing.T) {
	lib := build(t)
	s := readIn(t, lib, "NVML_HOST_PIDS=1")
	const mib = 1 << 20
	if o := s.GPUs[0].Others(s.Process, 510*mib); o.Value != 102*mib { // found by what it holds
		t.Errorf("others: %+v", o)
	}
	if o := s.GPUs[0].Others(s.Process, 4000*mib); o.Known || !strings.Contains(o.Reason, "container") {
		t.Errorf("others: %+v", o)
	}
	if s = readIn(t, lib, "NVML_PROCESSES=200"); len(s.GPUs[0].Processes) != 202 {
		t.Errorf("%d processes, want 202", len(s.GPUs[0].Processes))
	}
}

func TestOldAndPoorLibraries(t *testing.T) {
	older := []string{
		librarytest.Renamed("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"),
		librarytest.Renamed("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
		librarytest.Without("nvmlDeviceGetMemoryInfo_v2"),
	}
	old := readIn(t, build(t, older...)).GPUs[0]
	if !slices.Equal(old.Throttle, []string{"idle"}) || len(old.Processes) != 2 || !old.MemoryUsed.Known || !strings.HasSuffix(old.MemoryReserved.Reason, "has no nvmlDeviceGetMemoryInfo_v2") {
		t.Errorf("%+v", old)
	}
	lacking := []string{"nvmlDeviceGetMemoryInfo", "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPcieThroughput"}
	for _, symbol := range lacking {
		older = append(older, librarytest.Without(symbol))
	}
	poor := readIn(t, build(t, older...)).GPUs[0]
	for i, f := range []machine.Gauge{poor.MemoryUsed, poor.Energy, poor.Sent} {
		if f.Known || !strings.HasSuffix(f.Reason, "has no "+lacking[i]) {
			t.Errorf("%s: %+v", lacking[i], f)
		}
	}
	if poor.Power.Value != 73.25 {
		t.Errorf("power: %+v", poor.Power)
	}
}

func TestWithoutALibraryOrADriverThereIsAReason(t *testing.T) {
	if s := readIn(t, "/no/such/libnvidia-ml.so.1"); s.Reason != "/no/such/libnvidia-ml.so.1 not found" || len(s.GPUs) > 0 {
		t.Errorf("%+v", s)
	}
	lib := build(t)
	for env, want := range map[string]string{
		"NVML_INIT=9": "NVML: the driver is not loaded (9)", "NVML_INIT=18": "NVML: the driver library and the kernel module have different versions (18)",
		"NVML_FAULT=GetCount:999": "NVML: unknown error (999)",
	} {
		if s := readIn(t, lib, env); s.Reason != want {
			t.Errorf("%s: %q, want %q", env, s.Reason, want)
		}
	}
	s := readIn(t, lib, "NVML_FAULT=GetHandleByIndex:15")
	if len(s.GPUs) != 2 || s.GPUs[0].Power.Reason != "NVML: the GPU has fallen off the bus (15)" || s.GPUs[0].ProcessesReason == "" || s.GPUs[0].ThrottleReason == "" {
		t.Errorf("%+v", s)
	}
}

// TestReadOnThisMachine reads whatever there is: every sensor has a value or a reason.
func TestReadOnThisMachine(t *testing.T) {
	s := Read()
	if len(s.GPUs) == 0 && s.Reason == "" || !s.Processors.Known && s.Processors.Reason == "" {
		t.Errorf("%+v", s)
	}
	for i := range s.GPUs {
		for j, f := range s.GPUs[i].Gauges() {
			if f.Known == (f.Reason != "") {
				t.Errorf("GPU %d, sensor %d: %+v", i, j, *f)
			}
		}
	}
	t.Logf("%+v", s)
}
