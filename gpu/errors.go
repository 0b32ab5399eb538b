package gpu

import "fmt"

// cudaErrors explains the CUresult codes that starting the driver can return.
var cudaErrors = map[int32]string{
	1:   "invalid value",
	2:   "out of memory",
	3:   "the driver is not initialised",
	34:  "the library is a stub without a driver behind it",
	46:  "the device is in use by another process exclusively, or unavailable",
	100: "the driver finds no device",
	101: "the driver finds no valid device",
	201: "invalid context",
	802: "the system is not ready (the fabric manager may not be running)",
	803: "the driver library and the kernel module have different versions: reboot or reload the module",
	804: "forward compatibility is not supported on this hardware",
	999: "unknown error; nvidia-smi or the kernel log may say more",
}

// cudaError describes a CUresult with its number.
func cudaError(code int32) string {
	if text, ok := cudaErrors[code]; ok {
		return fmt.Sprintf("%s (%d)", text, code)
	}
	return fmt.Sprintf("CUDA error %d", code)
}

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
