package nvml

// NVML's functions and the structs that they fill.

// function is a function of the library, or the reason why the library lacks it.
type function[F any] struct {
	call    F
	missing error
}

// The types of functions that answer questions about a device.
type (
	query[T any] = function[func(device uintptr, value *T) int32]
	queryOf      = function[func(device uintptr, kind int32, value *uint32) int32]
	queryText    = function[func(device uintptr, text *byte, length uint32) int32]
)

// functions are NVML's through purego, which keeps pointer arguments alive and in place during a call.
type functions struct {
	driverVersion function[func(text *byte, length uint32) int32]
	count         function[func(n *uint32) int32]
	handleByIndex function[func(index uint32, device *uintptr) int32]
	handleByUUID  function[func(uuid string, device *uintptr) int32]

	name, uuid                                        queryText
	power, powerLimit, fan, linkGeneration, linkWidth query[uint32]
	temperature, clock, maxClock, pcie                queryOf
	energy, throttle                                  query[uint64]
	memory                                            query[Memory]
	memoryV2                                          query[MemoryV2]
	utilisation                                       query[utilisation]
	processes                                         function[func(device uintptr, count *uint32,
		first *Process) int32]
}

// Arguments of the calls: nvmlTemperatureSensors_t and nvmlPcieUtilCounter_t.
const (
	temperatureGPU = 0
	pcieSent       = 0
	pcieReceived   = 1
)

// A Clock is one of a GPU's clocks, an nvmlClockType_t.
type Clock int32

// The clocks of a GPU.
const (
	GraphicsClock Clock = 0
	SMClock       Clock = 1
	MemoryClock   Clock = 2
)

// NotAvailable is the memory of a process that the driver does not report.
const NotAvailable = ^uint64(0)

// The structs of NVML, in its layout on 64-bit machines.
type (
	// Memory is nvmlMemory_t, in bytes. Used includes what the driver reserves.
	Memory struct{ Total, Free, Used uint64 }

	// MemoryV2 is nvmlMemory_v2_t, in bytes. Used does not include Reserved.
	MemoryV2 struct {
		version, _                  uint32
		Total, Reserved, Free, Used uint64
	}

	// utilisation is nvmlUtilization_t, in percent of the driver's last sample period.
	utilisation struct{ gpu, memory uint32 }

	// Process is a process that computes on a GPU, nvmlProcessInfo_t of the call's second and third version. Bytes is
	// the memory that it uses, or NotAvailable. The ids of a partition's instances follow.
	Process struct {
		ID, _ uint32
		Bytes uint64
		_, _  uint32
	}
)

// memoryV2Version is nvmlMemory_v2, the version and the size of its struct.
const memoryV2Version = 2<<24 | 40
