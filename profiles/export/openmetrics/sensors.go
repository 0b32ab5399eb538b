package openmetrics

import (
	"strconv"

	dto "github.com/prometheus/client_model/go"

	"prismtop/profiles"
	"prismtop/profiles/machine"
)

// The metrics of GPUs and of energy.

// writeSensors writes the sensors of the GPUs and the counters of energy, those that there are.
func writeSensors(t *families, s *profiles.Snapshot) {
	if d := &s.Memory.Device; d.Used() {
		t.family("prismtop_device_memory_bytes", gauge, "Memory that the run holds on its GPU.")
		t.sample(float64(d.Allocated), "kind", "allocated")
		t.sample(float64(d.Context), "kind", "context")
	}
	if e := s.Sensors.EnergyOf(-1); e.Run.Known {
		t.family("prismtop_processors_joules", counter, "Energy of all processor packages since the newest start.")
		t.sample(e.Run.Value)
	}
	writeIterationEnergy(t, &s.Sensors)
	gpus := s.Sensors.GPUs
	if len(gpus) == 0 {
		return
	}
	t.info("prismtop_gpu", "The GPUs of the machine.")
	for i := range gpus {
		t.sample(1, "gpu", strconv.Itoa(i), "name", gpus[i].Name, "uuid", gpus[i].UUID)
	}
	for _, f := range []struct {
		name   string
		kind   dto.MetricType
		help   string
		values func(*machine.GPUSensors) []labelled
	}{
		{"prismtop_gpu_memory_bytes", gauge, "Memory of a GPU: used by all programs, reserved by the driver, " +
			"and in all.", func(g *machine.GPUSensors) []labelled {
			return []labelled{{"kind", "used", g.MemoryUsed, 1}, {"kind", "reserved", g.MemoryReserved, 1},
				{"kind", "total", g.MemoryTotal, 1}}
		}},
		{"prismtop_gpu_utilisation_ratio", gauge, "Share of the time in which a kernel ran, or memory was read " +
			"or written.", func(g *machine.GPUSensors) []labelled {
			return []labelled{{"of", "kernels", g.Utilisation, 1}, {"of", "memory", g.MemoryUtilisation, 1}}
		}},
		{"prismtop_gpu_power_watts", gauge, "Power that a GPU draws, and its enforced limit.",
			func(g *machine.GPUSensors) []labelled {
				return []labelled{{"kind", "draw", g.Power, 1}, {"kind", "limit", g.PowerLimit, 1}}
			}},
		{"prismtop_gpu_joules", counter, "Energy of a GPU since its driver was loaded.",
			func(g *machine.GPUSensors) []labelled {
				return []labelled{{gauge: g.Energy, scale: 1}}
			}},
		{"prismtop_gpu_temperature_celsius", gauge, "Temperature of a GPU.", func(g *machine.GPUSensors) []labelled {
			return []labelled{{gauge: g.Temperature, scale: 1}}
		}},
		{"prismtop_gpu_clock_hertz", gauge, "Clocks of a GPU.", func(g *machine.GPUSensors) []labelled {
			return []labelled{{"clock", "graphics", g.GraphicsClock, 1e6}, {"clock", "sm", g.SMClock, 1e6},
				{"clock", "memory", g.MemoryClock, 1e6}}
		}},
		{"prismtop_gpu_throttled", gauge, "1 for each reason why the clocks of a GPU are not higher.",
			func(g *machine.GPUSensors) (all []labelled) {
				for _, reason := range g.Throttle {
					all = append(all, labelled{"reason", reason, machine.Reading(1), 1})
				}
				return all
			}},
		{"prismtop_gpu_pcie_bytes_per_second", gauge, "Traffic of a GPU over PCIe.",
			func(g *machine.GPUSensors) []labelled {
				return []labelled{{"direction", "received", g.Received, 1}, {"direction", "sent", g.Sent, 1}}
			}},
	} {
		t.family(f.name, f.kind, f.help)
		for i := range gpus {
			for _, v := range f.values(&gpus[i]) {
				labels := []string{"gpu", strconv.Itoa(i)}
				if v.label != "" {
					labels = append(labels, v.label, v.value)
				}
				if v.gauge.Known {
					t.sample(v.gauge.Value*v.scale, labels...)
				}
			}
		}
	}
}

// labelled is a number with a label of its own, if any.
type labelled struct {
	label, value string
	gauge        machine.Gauge
	scale        float64
}

// writeIterationEnergy writes the energy of an iteration by each counter.
func writeIterationEnergy(t *families, v *profiles.SensorsView) {
	t.family("prismtop_iteration_joules", gauge,
		"Mean energy of an iteration under the present settings, by the counter of a device.")
	for i := range v.Energy {
		device := "processors"
		if i > 0 {
			device = "gpu" + strconv.Itoa(i-1)
		}
		if e := v.Energy[i].PerIteration; e.Known {
			t.sample(e.Value, "device", device)
		}
	}
}
