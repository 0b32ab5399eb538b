package tuitest

import (
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
)

// The GPU of these fixtures has the values that the library in C that stands in for NVML gives, under load: no run on a
// GPU was measured for them.

const mib = 1 << 20

// mockUUID is the UUID of the first GPU.
const mockUUID = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"

// mockGPU returns the sensors of a GPU at work.
func mockGPU() machine.GPUSensors {
	return machine.GPUSensors{
		Name: "NVIDIA H100 80GB HBM3", UUID: mockUUID,
		MemoryUsed: machine.Reading(1324 * mib), MemoryTotal: machine.Reading(81559 * mib),
		MemoryReserved: machine.Reading(565 * mib), Processes: []machine.GPUProcess{
			{ID: 4242, Bytes: machine.Reading(1222 * mib)}, {ID: 7, Bytes: machine.Reading(102 * mib)}},
		Utilisation: machine.Reading(0.94), MemoryUtilisation: machine.Reading(0.31),
		Power: machine.Reading(412.6), PowerLimit: machine.Reading(700), Energy: machine.Reading(5_073_250),
		Temperature: machine.Reading(58), Fan: machine.Missing("NVML: not supported on this device (3)"),
		GraphicsClock: machine.Reading(1755), MaxGraphicsClock: machine.Reading(1980), SMClock: machine.Reading(1755),
		MaxSMClock: machine.Reading(1980), MemoryClock: machine.Reading(2619), MaxMemoryClock: machine.Reading(2619),
		Throttle: []string{"power limit"}, Received: machine.Reading(2.5e6), Sent: machine.Reading(8.5e5),
		LinkGeneration: machine.Reading(5), LinkWidth: machine.Reading(16),
	}
}

// refusing returns a partition of a GPU, which refuses most questions.
func refusing() machine.GPUSensors {
	g := machine.GPUSensors{Name: "NVIDIA A100 MIG 1g.5gb", UUID: "MIG-10111213-1415-1617-1819-1a1b1c1d1e1f"}
	for _, field := range g.Gauges() {
		*field = machine.Missing("NVML: not supported on this device (3)")
	}
	g.MemoryUsed, g.MemoryTotal, g.MemoryReserved = machine.Reading(13*mib), machine.Reading(4864*mib),
		machine.Reading(0)
	g.Processes = []machine.GPUProcess{
		{ID: 11, Bytes: machine.Missing("the driver does not give the memory of the process")}}
	g.ThrottleReason = "NVML: not supported on this device (3)"
	return g
}

// withGPUs adds GPUs to a run.
func withGPUs(s *profiles.Snapshot, gpus ...machine.GPUSensors) *profiles.Snapshot {
	s.Sensors = profiles.SensorsView{
		Sensors: machine.Sensors{GPUs: gpus, Process: 4242,
			Processors: machine.Missing("no RAPL on this machine: no energy counters in /sys/class/powercap")},
		Energy: []profiles.EnergyView{{Run: machine.Missing("no RAPL on this machine"),
			PerIteration: machine.Missing("no RAPL on this machine")}},
	}
	for i := range gpus {
		e := profiles.EnergyView{Run: gpus[i].Energy, PerIteration: gpus[i].Energy}
		if e.Run.Known {
			e = profiles.EnergyView{Run: machine.Reading(41_900), PerIteration: machine.Reading(0.396),
				Iterations: 59_000, Span: time.Minute}
		}
		s.Sensors.Energy = append(s.Sensors.Energy, e)
	}
	return s
}

// BesideGPU returns Running on the processor of a machine with a GPU, from the mock's values.
func BesideGPU() *profiles.Snapshot {
	g := mockGPU()
	g.MemoryUsed, g.Utilisation, g.MemoryUtilisation, g.Power = machine.Reading(102*mib), machine.Reading(0),
		machine.Reading(0), machine.Reading(73.25)
	g.SMClock, g.GraphicsClock, g.Throttle, g.Temperature = machine.Reading(345), machine.Reading(345),
		[]string{"idle"}, machine.Reading(41)
	g.Processes = g.Processes[1:]
	s := withGPUs(Running(), g)
	s.Run.GPUReason = "device = cpu"
	s.Effects[1].MemoryChange, s.Effects[1].HasMemory = -4_410_000, true
	s.Effects[0].HasMemory = true
	return s
}

// OnGPU returns Running on a GPU, from the mock's values.
func OnGPU() *profiles.Snapshot {
	s := withGPUs(Running(), mockGPU())
	s.Run.Device, s.Run.Kernels, s.Run.GPUReason, s.Memory.GPUReason = "cuda", "sm_80", "", ""
	s.Memory.Device = profiles.DeviceMemory{
		Device: mockUUID, Allocated: 696 * mib, Weights: 11 * mib, Gradients: 11 * mib, Moments: 22 * mib,
		Activations: 410 * mib, Inputs: 16 * mib, Workspace: 184 * mib,
		Context: 498 * mib, Pinned: 8 * mib,
	}
	s.Memory.History, s.Memory.Trend = Eventful().Memory.History, Eventful().Memory.Trend
	s.Memory.History.GPU = Curve(len(s.Memory.History.RSS), 20, func(i int) (low, mean, high float64) {
		used := float64(1889 * mib)
		if i > 60 {
			used += float64(60 * mib)
		}
		return used, used, used
	})
	s.Effects[1].MemoryChange, s.Effects[1].HasMemory = 1<<30+205*mib, true
	s.Effects[0].MemoryChange, s.Effects[0].HasMemory = 20<<20, true
	return s
}

// OnOneOfTwoGPUs returns OnGPU on a machine with a second, partitioned GPU.
func OnOneOfTwoGPUs() *profiles.Snapshot {
	s := OnGPU()
	return withGPUs(s, mockGPU(), refusing())
}
