package monitor

import (
	"prismtop/gpu/nvml"
	"prismtop/profiles/machine"
)

// The reading of each GPU through NVML: sensors, memory and processes.

// sensors are those of the GPUs that the library lists.
type sensors struct{ library *nvml.Library }

func openNVML() (source, error) {
	l, err := nvml.Open()
	if err != nil {
		return nil, err
	}
	return sensors{l}, nil
}

func (s sensors) Energies() (all []machine.Gauge) {
	devices, _ := s.library.Devices() // GPUs returns the error
	for _, d := range devices {
		all = append(all, gauge(d.Energy()))
	}
	return all
}

func (s sensors) GPUs() (all []machine.GPUSensors, err error) {
	devices, err := s.library.Devices()
	for _, d := range devices {
		all = append(all, readGPU(d))
	}
	return all, err
}

// gauge returns a number, or the reason why it is missing.
func gauge(value float64, err error) machine.Gauge {
	if err != nil {
		return machine.Missing(err.Error())
	}
	return machine.Reading(value)
}

// reason returns the text of an error, empty for none.
func reason(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// readGPU reads all sensors but the counter of energy.
func readGPU(d nvml.Device) machine.GPUSensors {
	g := machine.GPUSensors{
		Power: gauge(d.Power()), PowerLimit: gauge(d.PowerLimit()), Temperature: gauge(d.Temperature()),
		Fan: gauge(d.Fan()), GraphicsClock: gauge(d.Clock(nvml.GraphicsClock)),
		MaxGraphicsClock: gauge(d.MaxClock(nvml.GraphicsClock)), SMClock: gauge(d.Clock(nvml.SMClock)),
		MaxSMClock: gauge(d.MaxClock(nvml.SMClock)), MemoryClock: gauge(d.Clock(nvml.MemoryClock)),
		MaxMemoryClock: gauge(d.MaxClock(nvml.MemoryClock)), Received: gauge(d.Received()), Sent: gauge(d.Sent()),
		LinkGeneration: gauge(d.LinkGeneration()), LinkWidth: gauge(d.LinkWidth()),
	}
	g.Name, _ = d.Name()
	g.UUID, _ = d.UUID()
	gpu, memory, err := d.Utilisation()
	g.Utilisation, g.MemoryUtilisation = gauge(gpu, err), gauge(memory, err)
	g.Throttle, err = d.Throttle()
	g.ThrottleReason = reason(err)
	readMemory(d, &g)
	readProcesses(d, &g)
	return g
}

// readMemory prefers the second version of the call, which has what the driver reserves.
func readMemory(d nvml.Device, g *machine.GPUSensors) {
	v2, err := d.MemoryV2()
	g.MemoryReserved = gauge(float64(v2.Reserved), err)
	used, total := v2.Used, v2.Total
	if err != nil {
		var v1 nvml.Memory
		v1, err = d.Memory()
		used, total = v1.Used, v1.Total
	}
	g.MemoryUsed, g.MemoryTotal = gauge(float64(used), err), gauge(float64(total), err)
}

func readProcesses(d nvml.Device, g *machine.GPUSensors) {
	list, err := d.Processes()
	g.ProcessesReason = reason(err)
	for _, p := range list {
		bytes := machine.Reading(float64(p.Bytes))
		if p.Bytes == nvml.NotAvailable {
			bytes = machine.Missing("the driver does not give the memory of the process")
		}
		g.Processes = append(g.Processes, machine.GPUProcess{ID: p.ID, Bytes: bytes})
	}
}
