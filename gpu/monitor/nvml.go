package monitor

import (
	"fmt"
	"math/bits"
)

// nvmlErrors explains nvmlReturn_t codes.
var nvmlErrors = map[int32]string{
	1:   "not initialised",
	2:   "invalid argument",
	3:   "not supported on this device",
	4:   "no permission",
	6:   "not found",
	9:   "the driver is not loaded",
	10:  "timed out",
	13:  "the driver lacks the function",
	15:  "the GPU has fallen off the bus",
	18:  "the driver library and the kernel module have different versions",
	999: "unknown error",
}

// Describe describes an nvmlReturn_t with its number.
func Describe(code int32) string {
	if text, ok := nvmlErrors[code]; ok {
		return fmt.Sprintf("NVML: %s (%d)", text, code)
	}
	return fmt.Sprintf("NVML error %d", code)
}

// Codes of nvmlReturn_t.
const (
	nvmlSuccess          = 0
	nvmlInsufficientSize = 7
)

// Arguments of the calls: nvmlTemperatureSensors_t, nvmlClockType_t and nvmlPcieUtilCounter_t.
const (
	temperatureGPU = 0
	clockGraphics  = 0
	clockSM        = 1
	clockMemory    = 2
	pcieSent       = 0
	pcieReceived   = 1
)

// notAvailable is NVML_VALUE_NOT_AVAILABLE.
const notAvailable = ^uint64(0)

// The structs of NVML, in its layout on 64-bit machines.
type (
	// nvmlMemory is nvmlMemory_t, in bytes: total, free, used, which holds what the driver has reserved.
	nvmlMemory struct{ total, _, used uint64 }

	// nvmlMemory2 is nvmlMemory_v2_t, in bytes: total, reserved, free, used, which does not hold reserved.
	nvmlMemory2 struct {
		version                  uint32
		_                        uint32
		total, reserved, _, used uint64
	}

	// nvmlUtilization is nvmlUtilization_t, in percent of the driver's last sample period.
	nvmlUtilization struct{ gpu, memory uint32 }

	// nvmlProcess is nvmlProcessInfo_t of the second and the third version of the call; the ids of a partition's
	// instances follow.
	nvmlProcess struct {
		pid           uint32
		_             uint32
		usedGPUMemory uint64
		_, _          uint32
	}
)

// memory2Version is nvmlMemory_v2, the version and the size of its struct.
const memory2Version = 2<<24 | 40

// throttles names nvmlClocksEventReasons, by bit.
var throttles = []string{
	"idle", "application clocks", "power limit", "hardware slowdown", "sync boost", "temperature", "temperature, by hardware", "power brake", "display clocks",
}

// throttleWords returns the reasons of a mask.
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
