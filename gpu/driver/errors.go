package driver

import (
	"errors"
	"fmt"
)

// The driver's errors: results by number and name, and the classes by which a caller decides.

// ErrMissing is the error of a function that the library lacks, as an old driver does.
var ErrMissing = errors.New("the driver library lacks the function")

// Result is a CUresult other than success.
type Result int32

// Results that callers treat specially.
const (
	InvalidValue       Result = 1
	OutOfMemory        Result = 2
	NotInitialized     Result = 3
	NoDevice           Result = 100
	InvalidContext     Result = 201
	InvalidPTX         Result = 218
	UnsupportedPTX     Result = 222
	NotFound           Result = 500
	NotReady           Result = 600
	IllegalAddress     Result = 700
	NotSupported       Result = 801
	SystemMismatch     Result = 803
	CaptureUnsupported Result = 900
	Unknown            Result = 999
)

// Error is a failed call.
type Error struct {
	Call   string // "cuMemAlloc"
	Result Result
	Detail string // of the compiler's log, the sizes of an allocation; empty for none
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %v", e.Call, e.Result)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// As returns the result of the *Error that err wraps, 0 if there is none.
func As(err error) Result {
	var e *Error
	if errors.As(err, &e) {
		return e.Result
	}
	return 0
}

// Class is what a failure means for the run.
type Class uint8

// The classes.
const (
	Other   Class = iota // a mistake of the caller or of the program
	Memory               // the device is out of memory; smaller work may succeed
	Absent               // no usable device on this machine
	TooOld               // the driver cannot compile the kernels, or does not fit its kernel module
	Capture              // the graph could not be captured; the same work can be enqueued step by step
	Sticky               // the context is lost: every later call fails
)

// Class returns the class of a result.
func (r Result) Class() Class {
	switch {
	case r == OutOfMemory:
		return Memory
	case r == 3 || r == 34 || r == 46 || r == 100 || r == 101:
		return Absent
	case r == 209 || r == 218 || r == 221 || r == 222 || r == 802 || r == 803 || r == 804:
		return TooOld
	case r >= 900 && r <= 908:
		return Capture
	case r == 4 || r == 214 || r == 700 || r == 702 || r == 709 || r == 710 || r >= 714 && r <= 719 || r == 999:
		return Sticky
	}
	return Other
}

// NoGraphs reports whether an error means that a driver cannot capture or run graphs, while the same work can be
// enqueued step by step: its class is Capture, the library lacks the function, or the device does not support it.
func NoGraphs(err error) bool {
	r := As(err)
	return r.Class() == Capture || r == NotSupported || errors.Is(err, ErrMissing)
}

// String explains the result, with its number.
func (r Result) String() string {
	if text, ok := results[r]; ok {
		return fmt.Sprintf("%s (%d)", text, int32(r))
	}
	return fmt.Sprintf("CUDA error %d", int32(r))
}

// results explains the results that prismtop's calls can return.
var results = map[Result]string{
	1:   "invalid value",
	2:   "out of memory",
	3:   "the driver is not initialised",
	4:   "the driver has shut down",
	34:  "the library is a stub without a driver behind it",
	46:  "the device is in use by another process exclusively, or unavailable",
	100: "the driver finds no device",
	101: "the driver finds no valid device",
	200: "the image of the kernels is invalid",
	201: "invalid context",
	209: "the kernels have no version for this device",
	214: "uncorrectable memory error",
	218: "the driver does not accept the PTX",
	221: "the driver's PTX compiler was not found",
	222: "the driver is too old for the PTX",
	400: "invalid handle",
	500: "not found",
	600: "not ready",
	700: "a kernel accessed memory that it must not",
	701: "a kernel needs more resources than the device has",
	702: "a kernel ran for too long",
	709: "the context was destroyed",
	710: "an assertion of a kernel failed",
	715: "a kernel executed an illegal instruction",
	716: "a kernel accessed a misaligned address",
	717: "a kernel accessed an invalid address space",
	719: "a kernel failed",
	801: "not supported",
	802: "the system is not ready (the fabric manager may not be running)",
	803: "the driver library and the kernel module have different versions: reboot or reload the module",
	804: "forward compatibility is not supported on this hardware",
	900: "the operation cannot be captured",
	901: "the capture was invalidated",
	906: "the capture would depend on the default stream",
	908: "the capture belongs to another thread",
	999: "unknown error; nvidia-smi or the kernel log may say more",
}
