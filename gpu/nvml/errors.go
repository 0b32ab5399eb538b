package nvml

import "fmt"

// Error is an nvmlReturn_t other than that of success.
type Error int32

// insufficientSize is the error of a call that was given too little room.
const insufficientSize Error = 7

var errorTexts = map[Error]string{
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

func (e Error) Error() string {
	if text, ok := errorTexts[e]; ok {
		return fmt.Sprintf("NVML: %s (%d)", text, int32(e))
	}
	return fmt.Sprintf("NVML error %d", int32(e))
}

// check returns the error of a call's result, nil for success.
func check(code int32) error {
	if code == 0 {
		return nil
	}
	return Error(code)
}
