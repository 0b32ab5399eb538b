// Package gpu finds the CUDA driver, describes its devices, or the precise
// reason why there are none, and opens their backend. libcuda and NVML are opened at run time: a machine
// without them runs the same binary, and nothing here uses cgo.
package gpu

import (
	"fmt"

	"prismtop/gpu/driver"
	"prismtop/gpu/driver/installed"
	"prismtop/gpu/nvml"
	"prismtop/profiles/machine"
)

// The description of the driver and its devices, without a context.

// monitor is the part of NVML used by the probe.
type monitor interface {
	// DriverVersion returns the kernel driver's version.
	DriverVersion() (string, error)
	// FreeMemory returns the free memory of the device with that UUID, in bytes.
	FreeMemory(uuid string) (int64, error)
}

func openMonitor() (monitor, error) {
	l, err := nvml.Open()
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Probe queries the machine's CUDA driver. It may take seconds while the driver
// starts, so programs with a screen should call it on a separate goroutine. It
// creates no CUDA context and uses no memory on the device.
func Probe() machine.GPU { return probe(installed.Open, openMonitor) }

func probe(openDriver func() (driver.Driver, error), openMonitor func() (monitor, error)) machine.GPU {
	d, err := openDriver()
	if err != nil {
		return machine.GPU{Reason: "no CUDA device: " + err.Error()}
	}
	status := machine.GPU{}
	version, err := d.Version()
	if err == nil {
		status.CUDA = fmt.Sprintf("%d.%d", version/1000, version%1000/10)
	}
	if err := d.Init(); err != nil {
		status.Reason = "no CUDA device: " + err.Error()
		return status
	}
	count, err := d.DeviceCount()
	if err != nil {
		status.Reason = "no CUDA device: " + err.Error()
		return status
	}
	if count <= 0 {
		status.Reason = "no CUDA device: the driver lists none"
		return status
	}
	for i := range count {
		status.Devices = append(status.Devices, describe(d, i))
	}
	judge(&status, version)
	readMonitor(&status, openMonitor)
	return status
}

// describe returns what the driver says of a device; what it does not say stays empty.
func describe(d driver.Driver, ordinal int) machine.GPUDevice {
	device, err := d.DeviceGet(ordinal)
	if err != nil {
		return machine.GPUDevice{Capability: "0.0"}
	}
	described := machine.GPUDevice{}
	described.Name, _ = d.DeviceName(device)
	described.TotalBytes, _ = d.DeviceTotalMem(device)
	major, _ := d.DeviceAttribute(driver.ComputeCapabilityMajor, device)
	minor, _ := d.DeviceAttribute(driver.ComputeCapabilityMinor, device)
	described.Capability = fmt.Sprintf("%d.%d", major, minor)
	if u, err := d.DeviceUUID(device); err == nil {
		described.UUID = driver.UUID(u)
	}
	return described
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
	status.Driver, _ = m.DriverVersion()
	for i := range status.Devices {
		device := &status.Devices[i]
		if device.UUID == "" {
			device.FreeReason = "the driver gives the device no UUID to ask NVML by"
			continue
		}
		free, err := m.FreeMemory(device.UUID)
		if err != nil {
			device.FreeReason = err.Error()
			continue
		}
		device.FreeBytes = free
	}
}
