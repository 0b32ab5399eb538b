package openmetrics

import (
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/machine"
)

// Sensors that are missing have no sample, and hide no other.
func TestPrometheusParsesTheSensors(t *testing.T) {
	s := &profiles.Snapshot{Unit: -1}
	s.Run.Schema.Workload = "test"
	s.Memory.Device = profiles.DeviceMemory{Device: "GPU-1", Allocated: 100, Context: 50}
	s.Sensors.GPUs = []machine.GPUSensors{
		{Name: `a "GPU"`, UUID: "GPU-1", MemoryUsed: machine.Reading(200), MemoryReserved: machine.Missing("old"), MemoryTotal: machine.Reading(1000),
			Power: machine.Reading(73.25), Energy: machine.Reading(5000), SMClock: machine.Reading(345), Throttle: []string{"power limit", "temperature"}, Sent: machine.Reading(1e6)},
		{Name: "partition", Power: machine.Missing("NVML: not supported on this device (3)")},
	}
	s.Sensors.Energy = []profiles.EnergyView{{Run: machine.Missing("no RAPL")}, {PerIteration: machine.Reading(0.25)}, {}}
	text := New("", func() *profiles.Snapshot { return s }).Text()
	m := parse(t, text)
	for name, want := range map[string]float64{
		`prismtop_device_memory_bytes{kind="allocated"}`:                100,
		`prismtop_gpu_info{gpu="0", name="a \"GPU\"", uuid="GPU-1"}`:    1,
		`prismtop_gpu_memory_bytes{gpu="0", kind="used"}`:               200,
		`prismtop_gpu_power_watts{gpu="0", kind="draw"}`:                73.25,
		`prismtop_gpu_joules_total{gpu="0"}`:                            5000,
		`prismtop_gpu_clock_hertz{clock="sm", gpu="0"}`:                 345e6,
		`prismtop_gpu_throttled{gpu="0", reason="temperature"}`:         1,
		`prismtop_gpu_pcie_bytes_per_second{direction="sent", gpu="0"}`: 1e6,
		`prismtop_iteration_joules{device="gpu0"}`:                      0.25,
	} {
		if got, ok := m.values[name]; !ok || got != want {
			t.Errorf("%s: %g (found: %v), want %g", name, got, ok, want)
		}
	}
	for _, not := range []string{`kind="reserved"`, `prismtop_gpu_power_watts{gpu="1"`, "prismtop_processors_joules", `device="processors"`} {
		if strings.Contains(string(text), not) {
			t.Errorf("%s is there, which was not read", not)
		}
	}
}
