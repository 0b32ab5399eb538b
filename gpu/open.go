package gpu

import (
	"fmt"
	"strconv"
	"strings"

	"prismtop/gpu/cuda"
	"prismtop/gpu/driver"
	"prismtop/gpu/driver/installed"
	"prismtop/gpu/kernels"
	"prismtop/gpu/nvml"
	"prismtop/profiles/machine"
	"prismtop/sim/nn"
)

// Opening the backend of a device, and which device a setting stands for.

// leastCUDA is the first version of CUDA whose drivers compile the kernels, which are PTX of ISA 7.0, as 1000·major +
// 10·minor.
const leastCUDA = 11000

// Open opens the backend of a device by its ordinal. It creates the device's context, which takes some tenths of a
// second.
func Open(ordinal int) (nn.Backend, error) { return openWith(installed.Open, ordinal) }

func openWith(open func() (driver.Driver, error), ordinal int) (nn.Backend, error) {
	d, err := open()
	if err != nil {
		return nil, err
	}
	b, err := cuda.Open(d, cuda.Options{Ordinal: ordinal, Free: freeMemory})
	if err != nil {
		return nil, err // a nil *cuda.Backend would be an nn.Backend that is not nil
	}
	return b, nil
}

// freeMemory reads a device's free memory through NVML, which needs no context.
func freeMemory(uuid string) (bytes int64, known bool) {
	l, err := nvml.Open()
	if err != nil {
		return 0, false
	}
	bytes, err = l.FreeMemory(uuid)
	return bytes, err == nil
}

// Ordinal returns the device that a value of the setting device stands for: the first usable one for auto and cuda,
// that of the number for cuda:1. The reason why there is none is empty if there is one.
func Ordinal(found machine.GPU, device string) (ordinal int, reason string) {
	if !found.Usable && len(found.Devices) == 0 {
		return 0, found.Reason
	}
	text, numbered := strings.CutPrefix(device, "cuda:")
	if !numbered {
		for i, d := range found.Devices {
			if d.Reason == "" {
				return i, ""
			}
		}
		return 0, found.Reason
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n >= len(found.Devices) {
		return 0, fmt.Sprintf("no such GPU: the driver lists %d, the first being cuda:0", len(found.Devices))
	}
	if d := &found.Devices[n]; d.Reason != "" {
		return 0, d.Name + ": " + d.Reason
	}
	return n, ""
}

// judge marks the devices that can run the kernels, from what is known without a context.
func judge(status *machine.GPU, version int) {
	if version < leastCUDA {
		status.Reason = fmt.Sprintf("the driver is too old for the kernels: it has CUDA %s, they need %d.%d",
			status.CUDA, leastCUDA/1000, leastCUDA%1000/10)
	}
	for i := range status.Devices {
		d := &status.Devices[i]
		if d.Reason = status.Reason; d.Reason == "" {
			d.Reason = lacks(d.Capability)
		}
		status.Usable = status.Usable || d.Reason == ""
	}
	if !status.Usable && status.Reason == "" {
		status.Reason = status.Devices[0].Name + ": " + status.Devices[0].Reason
	}
}

// lacks returns why the kernels do not run on devices of a compute capability; empty if they do.
func lacks(capability string) string {
	var major, minor int
	if _, err := fmt.Sscanf(capability, "%d.%d", &major, &minor); err != nil {
		return "its compute capability is unknown"
	}
	if _, err := kernels.For(10*major + minor); err != nil {
		return err.Error()
	}
	return ""
}
