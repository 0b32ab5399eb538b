package nvml

import (
	"errors"
	"fmt"
	"math/bits"
)

// A GPU's sensors, memory, processes and the reasons for its clocks, each with the refusals of its own.

// Device is a GPU or a partition of one.
type Device struct {
	functions *functions
	handle    uintptr
	lost      error // why there is no handle
}

// Name returns the GPU's model, such as "NVIDIA H100 80GB HBM3".
func (d Device) Name() (string, error) { return d.label(&d.functions.name) }

// UUID returns the GPU's identifier, "GPU-…" or "MIG-…".
func (d Device) UUID() (string, error) { return d.label(&d.functions.uuid) }

// Power returns the power that the GPU takes, in watts.
func (d Device) Power() (float64, error) { return d.word(&d.functions.power, 1e-3) }

// PowerLimit returns the limit that holds down the power, in watts.
func (d Device) PowerLimit() (float64, error) { return d.word(&d.functions.powerLimit, 1e-3) }

// Energy returns the energy taken since the driver was loaded, in joules.
func (d Device) Energy() (float64, error) {
	millijoules, err := read(d, &d.functions.energy)
	return float64(millijoules) / 1e3, err
}

// Temperature returns the temperature of the chip, in °C.
func (d Device) Temperature() (float64, error) {
	return d.kind(&d.functions.temperature, temperatureGPU, 1)
}

// Fan returns the speed of the fan as a share of its largest.
func (d Device) Fan() (float64, error) { return d.word(&d.functions.fan, 1e-2) }

// Clock returns the present rate of a clock, in MHz.
func (d Device) Clock(c Clock) (float64, error) { return d.kind(&d.functions.clock, int32(c), 1) }

// MaxClock returns the largest rate of a clock, in MHz.
func (d Device) MaxClock(c Clock) (float64, error) { return d.kind(&d.functions.maxClock, int32(c), 1) }

// Received returns the traffic to the GPU over PCIe, in bytes a second.
func (d Device) Received() (float64, error) { return d.kind(&d.functions.pcie, pcieReceived, 1e3) }

// Sent returns the traffic from the GPU over PCIe, in bytes a second.
func (d Device) Sent() (float64, error) { return d.kind(&d.functions.pcie, pcieSent, 1e3) }

// LinkGeneration returns the generation of PCIe at which the link runs.
func (d Device) LinkGeneration() (float64, error) { return d.word(&d.functions.linkGeneration, 1) }

// LinkWidth returns the lanes of the link.
func (d Device) LinkWidth() (float64, error) { return d.word(&d.functions.linkWidth, 1) }

// Memory returns the memory in use, that of the driver included.
func (d Device) Memory() (Memory, error) { return read(d, &d.functions.memory) }

// MemoryV2 returns the memory in use and that of the driver apart, which older libraries do not have.
func (d Device) MemoryV2() (MemoryV2, error) {
	f := &d.functions.memoryV2
	return ask(d.refusal(f.missing), func(m *MemoryV2) int32 {
		m.version = memoryV2Version
		return f.call(d.handle, m)
	})
}

// Utilisation returns the shares of the time in which a kernel ran and in which memory was read or written.
func (d Device) Utilisation() (gpu, memory float64, err error) {
	u, err := read(d, &d.functions.utilisation)
	return float64(u.gpu) / 100, float64(u.memory) / 100, err
}

// Processes returns the processes that compute on the GPU. It asks again with more room while processes come.
func (d Device) Processes() ([]Process, error) {
	f := &d.functions.processes
	if err := d.refusal(f.missing); err != nil {
		return nil, err
	}
	room := uint32(32)
	for range 4 {
		list, count := make([]Process, room), room
		err := check(f.call(d.handle, &count, &list[0]))
		if err == nil {
			return list[:min(count, room)], nil
		}
		if err != insufficientSize {
			return nil, err
		}
		room = 2 * max(count, room)
	}
	return nil, errors.New("the list of processes changes faster than it is read")
}

// throttles names nvmlClocksEventReasons, by bit.
var throttles = []string{
	"idle", "application clocks", "power limit", "hardware slowdown", "sync boost", "temperature",
	"temperature, by hardware", "power brake", "display clocks",
}

// Throttle returns what holds down the clocks, in words: "idle", "power limit".
func (d Device) Throttle() ([]string, error) {
	mask, err := read(d, &d.functions.throttle)
	if err != nil {
		return nil, err
	}
	return throttleWords(mask), nil
}

func throttleWords(mask uint64) (words []string) {
	for ; mask != 0; mask &= mask - 1 {
		if bit := bits.TrailingZeros64(mask); bit < len(throttles) {
			words = append(words, throttles[bit])
		} else {
			words = append(words, fmt.Sprintf("reason %#x", uint64(1)<<bit))
		}
	}
	return words
}

// refusal returns why a function cannot be called for the device: it has no handle, or the library lacks the function.
func (d Device) refusal(missing error) error {
	if d.lost != nil {
		return d.lost
	}
	return missing
}

func read[T any](d Device, f *query[T]) (T, error) {
	return ask(d.refusal(f.missing), func(v *T) int32 { return f.call(d.handle, v) })
}

func (d Device) word(f *query[uint32], scale float64) (float64, error) {
	v, err := read(d, f)
	return float64(v) * scale, err
}

func (d Device) kind(f *queryOf, kind int32, scale float64) (float64, error) {
	v, err := ask(d.refusal(f.missing), func(v *uint32) int32 { return f.call(d.handle, kind, v) })
	return float64(v) * scale, err
}

func (d Device) label(f *queryText) (string, error) {
	return text(d.refusal(f.missing), func(buffer *byte, length uint32) int32 {
		return f.call(d.handle, buffer, length)
	})
}
