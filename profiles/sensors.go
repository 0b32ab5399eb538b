package profiles

import (
	"strings"
	"time"

	"prismtop/profiles/machine"
)

// The readings of sensors in a snapshot: those of GPUs, energy, and the ledger of a GPU's memory.

// SensorsView is the newest reading of the GPUs and of the counters of energy. It is without GPUs and without a reason
// before the first.
type SensorsView struct {
	machine.Sensors
	Energy []EnergyView // of the processors, then of each GPU
}

// EnergyView is what a counter of energy has counted, in joules. It includes what other programs took, and what the
// device takes when it has nothing to do.
type EnergyView struct {
	// Run is of the run so far, pauses included.
	Run machine.Gauge
	// PerIteration is the mean over the Iterations of the newest Span under the same settings.
	PerIteration machine.Gauge
	Iterations   float64
	Span         time.Duration
}

// Read reports whether there was a reading.
func (v *SensorsView) Read() bool { return len(v.GPUs) > 0 || v.Reason != "" }

// EnergyOf returns the energy of a GPU, or of the processors for −1.
func (v *SensorsView) EnergyOf(gpu int) EnergyView {
	if i := gpu + 1; i >= 0 && i < len(v.Energy) {
		return v.Energy[i]
	}
	return EnergyView{}
}

// GPUOf returns the index of the GPU with a UUID, −1 if there is none. A partition of a GPU, whose driver gives it the
// prefix MIG, is found by the rest.
func (v *SensorsView) GPUOf(uuid string) int {
	bare := func(uuid string) string {
		_, rest, _ := strings.Cut(uuid, "-")
		return rest
	}
	for i := range v.GPUs {
		if g := v.GPUs[i].UUID; uuid != "" && (g == uuid || bare(g) != "" && bare(g) == bare(uuid)) {
			return i
		}
	}
	return -1
}

// Ledger divides the memory that is in use on the run's GPU. The entries add up to Used.
type Ledger struct {
	GPU     int // index in Sensors.GPUs; −1 if the driver's monitor does not know the device
	Entries []LedgerEntry
	// Used is what the driver reports as in use, with what it has reserved for itself, and Total what there is.
	Used, Total machine.Gauge
}

// LedgerEntry is a part of a ledger. An entry that is missing counts as 0.
type LedgerEntry struct {
	Name  string
	Bytes machine.Gauge
	// Run is true for what the run's backend allocated.
	Run bool
}

// Unexplained is the name of the last entry of a ledger: what is in use and in no other entry. It is negative where
// they count too much.
const Unexplained = "unexplained"

// Ledger returns the ledger of the run's GPU; ok is false if the run does not compute on one.
func (s *Snapshot) Ledger() (l Ledger, ok bool) {
	d := &s.Memory.Device
	if !d.Used() {
		return l, false
	}
	own := func(name string, bytes int64) {
		l.Entries = append(l.Entries, LedgerEntry{name, machine.Reading(float64(bytes)), true})
	}
	own("weights", d.Weights)
	own("gradients", d.Gradients)
	own("moments", d.Moments)
	own("activations", d.Activations)
	own("inputs", d.Inputs)
	own("workspace", d.Workspace)
	for i, info := range s.Run.Schema.Caches {
		if d.Caches[i] > 0 {
			own(info.Title+" cache", d.Caches[i])
		}
	}
	if spare := d.Spare(); spare != 0 {
		own("other plans", spare)
	}

	l.GPU = s.Sensors.GPUOf(d.Device)
	reason := s.Sensors.Reason
	if reason == "" {
		reason = "the driver's monitor lists no GPU " + d.Device
	}
	reserved, others := machine.Missing(reason), machine.Missing(reason)
	l.Used, l.Total = machine.Missing(reason), machine.Missing(reason)
	if l.GPU >= 0 {
		g := &s.Sensors.GPUs[l.GPU]
		reserved, others = g.MemoryReserved, g.Others(s.Sensors.Process, d.Total())
		l.Used, l.Total = g.InUse(), g.MemoryTotal
	}
	l.Entries = append(l.Entries, LedgerEntry{"CUDA context", s.context(l.GPU), true})
	l.Entries = append(l.Entries, LedgerEntry{Name: "driver", Bytes: reserved},
		LedgerEntry{Name: "other processes", Bytes: others})
	rest := machine.Missing(l.Used.Reason)
	if l.Used.Known {
		rest = machine.Reading(l.Used.Value)
		for _, e := range l.Entries {
			rest.Value -= e.Bytes.Value
		}
	}
	l.Entries = append(l.Entries, LedgerEntry{Name: Unexplained, Bytes: rest})
	return l, true
}

// context returns the size of the run's context on a GPU, −1 for an unknown one: as the backend measured it, else
// what the driver counts for this process beyond what the backend allocated.
func (s *Snapshot) context(gpu int) machine.Gauge {
	d := &s.Memory.Device
	if d.Context > 0 {
		return machine.Reading(float64(d.Context))
	}
	if gpu < 0 {
		return machine.Missing("not measured")
	}
	own := s.Sensors.GPUs[gpu].Own(s.Sensors.Process, d.Allocated)
	if own.Known {
		own.Value = max(0, own.Value-float64(d.Allocated))
	}
	return own
}
