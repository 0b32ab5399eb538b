package gpu

import "fmt"

// nvmlErrors explains the nvmlReturn_t codes of the calls the probe makes.
var nvmlErrors = map[int32]string{
	1:   "not initialised",
	2:   "invalid argument",
	3:   "not supported on this device",
	4:   "no permission",
	6:   "device not found",
	9:   "the driver is not loaded",
	15:  "the GPU has fallen off the bus",
	18:  "the driver library and the kernel module have different versions",
	999: "unknown error",
}

// nvmlError describes an nvmlReturn_t with its number.
func nvmlError(code int32) string {
	if text, ok := nvmlErrors[code]; ok {
		return fmt.Sprintf("NVML: %s (%d)", text, code)
	}
	return fmt.Sprintf("NVML error %d", code)
}
