package machine

import "math"

// Readings of sensors, numbers that may be missing, and what of a GPU's memory belongs to whom.

// Sensors is a reading of the machine's GPUs and of the energy counters of its processors.
type Sensors struct {
	GPUs   []GPUSensors
	Reason string // why no GPU was read; empty if one was
	// Processors is the energy of all processor packages since the first reading, in joules.
	Processors Gauge
	// Process is the id of this process, as it sees itself.
	Process uint32
}

// Gauge is a number that may be missing. The zero Gauge is one that was not read.
type Gauge struct {
	Value  float64
	Known  bool
	Reason string // why it is missing; empty if Known
}

// Reading returns a known number.
func Reading(v float64) Gauge { return Gauge{Value: v, Known: true} }

// Missing returns a number that is missing for a reason.
func Missing(reason string) Gauge { return Gauge{Reason: reason} }

// GPUSensors is what a GPU's driver reports of it. Every number may be missing for a reason of its own. Shares are 0
// to 1, amounts of memory bytes, clocks MHz, traffic bytes a second.
type GPUSensors struct {
	Name string // "NVIDIA H100 80GB HBM3"
	UUID string // "GPU-…"; empty if the driver does not give it

	// MemoryUsed is memory in use by all programs. Where the driver gives MemoryReserved, which it keeps for itself,
	// that is not part of it.
	MemoryUsed, MemoryTotal, MemoryReserved Gauge
	// Processes are those that compute on the GPU, largest first; ProcessesReason is why they are missing.
	Processes       []GPUProcess
	ProcessesReason string

	Utilisation       Gauge // share of the time in which a kernel ran
	MemoryUtilisation Gauge // share of the time in which memory was read or written
	Power, PowerLimit Gauge // watts
	Energy            Gauge // joules since the driver was loaded
	Temperature       Gauge // °C
	Fan               Gauge // share of its largest speed

	GraphicsClock, MaxGraphicsClock Gauge
	SMClock, MaxSMClock             Gauge
	MemoryClock, MaxMemoryClock     Gauge
	// Throttle are the reasons for the present clocks, in words: "idle", "power limit". It is empty if nothing holds
	// them down; ThrottleReason is why it is not known.
	Throttle       []string
	ThrottleReason string

	Received, Sent            Gauge // by the GPU over PCIe
	LinkGeneration, LinkWidth Gauge
}

// Gauges returns all numbers of a GPU but those of its processes.
func (g *GPUSensors) Gauges() []*Gauge {
	return []*Gauge{
		&g.MemoryUsed, &g.MemoryTotal, &g.MemoryReserved, &g.Utilisation, &g.MemoryUtilisation, &g.Power,
		&g.PowerLimit, &g.Energy,
		&g.Temperature, &g.Fan, &g.GraphicsClock, &g.MaxGraphicsClock, &g.SMClock, &g.MaxSMClock, &g.MemoryClock,
		&g.MaxMemoryClock,
		&g.Received, &g.Sent, &g.LinkGeneration, &g.LinkWidth,
	}
}

// GPUProcess is a process that computes on a GPU. Its id may be one of another process namespace: the host's, seen
// from a container.
type GPUProcess struct {
	ID    uint32
	Bytes Gauge
}

// InUse returns the memory that is not free: what is used, and what the driver reserves where it says so.
func (g *GPUSensors) InUse() Gauge {
	used := g.MemoryUsed
	if used.Known {
		used.Value += g.MemoryReserved.Value
	}
	return used
}

// Listed returns the sum of the memory of all listed processes.
func (g *GPUSensors) Listed() (bytes float64, known bool) {
	if g.ProcessesReason != "" {
		return 0, false
	}
	for _, p := range g.Processes {
		if !p.Bytes.Known {
			return 0, false
		}
		bytes += p.Bytes.Value
	}
	return bytes, true
}

// Own returns what the driver counts for this process, given what the run's backend has allocated on the GPU, in bytes.
// An id alone does not identify a process, because those of a container are not the host's: the process of this id must
// also hold what the run does, or else be the only one that does.
func (g *GPUSensors) Own(process uint32, held int64) Gauge {
	if held <= 0 {
		return Reading(0)
	}
	var like []float64
	for _, p := range g.Processes {
		listed := p.Bytes.Value
		if !p.Bytes.Known {
			continue
		}
		if p.ID == process && listed >= (1-processApart)*float64(held) {
			return p.Bytes
		}
		if math.Abs(listed-float64(held)) <= max(processApart*float64(held), processLeast) {
			like = append(like, listed)
		}
	}
	switch {
	case g.ProcessesReason != "":
		return Missing(g.ProcessesReason)
	case len(g.Processes) == 0:
		return Missing("the driver lists no process here, not even this one: a container hides them")
	case len(like) == 1:
		return Reading(like[0])
	}
	return Missing("this process is not to be told from those listed: a container's ids are not the host's")
}

// Others returns the memory that other processes hold on the GPU, given what this run's backend has allocated there,
// 0 for nothing.
func (g *GPUSensors) Others(process uint32, held int64) Gauge {
	sum, known := g.Listed()
	switch {
	case g.ProcessesReason != "":
		return Missing(g.ProcessesReason)
	case !known:
		return Missing("the driver does not give the memory of each process")
	}
	own := g.Own(process, held)
	if own.Known {
		own.Value = sum - own.Value
	}
	return own
}

// A process of another id is taken for this one if it holds what this one has allocated, within processApart or
// processLeast bytes: the driver also counts what it allocates for kernels and graphs.
const (
	processApart = 0.02
	processLeast = 64 << 20
)
