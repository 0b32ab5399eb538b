// Package gpu finds the CUDA driver and describes its devices, or the precise
// reason why there are none. libcuda and NVML are opened at run time: a machine
// without them runs the same binary, and nothing here uses cgo.
package gpu

import (
	"fmt"

	"prismtop/profiles/machine"
)

// noBackend is the reason on a machine with a working device: the program
// computes on the CPU whatever the driver says.
const noBackend = "this build has no CUDA backend; it computes on the CPU"

// driver is the part of the CUDA driver API used by the probe. Results are
// CUresult codes, 0 for success (see cudaError).
type driver interface {
	Init() int32
	Version() (int32, int32)   // API version as 1000·major + 10·minor
	Count() (int32, int32)     // number of devices
	Name(device int32) string  // empty if unknown
	Memory(device int32) int64 // total bytes, 0 if unknown
	Capability(device int32) [2]int32
	UUID(device int32) string // "GPU-…", empty if unknown
}

// monitor is the part of NVML used by the probe.
type monitor interface {
	// DriverVersion returns the kernel driver's version, or "".
	DriverVersion() string
	// Free returns the free memory of the device with that UUID, in bytes.
	Free(uuid string) (int64, error)
	Close()
}

// Probe queries the machine's CUDA driver. It may take seconds while the driver
// starts, so programs with a screen should call it on a separate goroutine. It
// creates no CUDA context and uses no memory on the device.
func Probe() machine.GPU { return probe(openDriver, openMonitor) }

func probe(openDriver func() (driver, error), openMonitor func() (monitor, error)) machine.GPU {
	d, err := openDriver()
	if err != nil {
		return machine.GPU{Reason: "no CUDA device: " + err.Error()}
	}
	status := machine.GPU{}
	if version, code := d.Version(); code == 0 {
		status.CUDA = fmt.Sprintf("%d.%d", version/1000, version%1000/10)
	}
	if code := d.Init(); code != 0 {
		status.Reason = "no CUDA device: cuInit: " + cudaError(code)
		return status
	}
	count, code := d.Count()
	if code != 0 {
		status.Reason = "no CUDA device: cuDeviceGetCount: " + cudaError(code)
		return status
	}
	if count <= 0 {
		status.Reason = "no CUDA device: the driver lists none"
		return status
	}
	status.Reason = noBackend
	status.Devices = devices(d, count)
	readMonitor(&status, openMonitor)
	return status
}

func devices(d driver, count int32) []machine.GPUDevice {
	list := make([]machine.GPUDevice, 0, count)
	for i := range count {
		capability := d.Capability(i)
		list = append(list, machine.GPUDevice{
			Name:       d.Name(i),
			Capability: fmt.Sprintf("%d.%d", capability[0], capability[1]),
			UUID:       d.UUID(i),
			TotalBytes: d.Memory(i),
		})
	}
	return list
}

// readMonitor adds the data from NVML: the driver's version and free memory,
// which the driver API reports only inside a context that would itself use
// memory.
func readMonitor(status *machine.GPU, open func() (monitor, error)) {
	m, err := open()
	if err != nil {
		for i := range status.Devices {
			status.Devices[i].FreeReason = err.Error()
		}
		return
	}
	defer m.Close()
	status.Driver = m.DriverVersion()
	for i := range status.Devices {
		device := &status.Devices[i]
		if device.UUID == "" {
			device.FreeReason = "the driver gives the device no UUID to ask NVML by"
			continue
		}
		free, err := m.Free(device.UUID)
		if err != nil {
			device.FreeReason = err.Error()
			continue
		}
		device.FreeBytes = free
	}
}
