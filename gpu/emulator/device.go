package emulator

import (
	"prismtop/gpu/driver"
)

// The driver and its devices: names, sizes and attributes.

// Name returns "emulator".
func (d *Driver) Name() string { return "emulator" }

// Init starts the driver; without devices it fails as the real one does.
func (d *Driver) Init() error {
	err := d.enter("cuInit")
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	if len(d.devices) == 0 {
		return fail("cuInit", driver.NoDevice, "")
	}
	d.started = true
	return nil
}

// Version returns the emulated driver's version.
func (d *Driver) Version() (int, error) {
	err := d.enter("cuDriverGetVersion")
	defer d.mu.Unlock()
	return d.options.DriverVersion, err
}

// DeviceCount returns the number of emulated devices.
func (d *Driver) DeviceCount() (int, error) {
	err := d.enter("cuDeviceGetCount")
	defer d.mu.Unlock()
	return len(d.devices), err
}

// DeviceGet returns a device by its ordinal.
func (d *Driver) DeviceGet(ordinal int) (driver.Device, error) {
	_, err := d.device("cuDeviceGet", driver.Device(ordinal))
	return driver.Device(ordinal), err
}

// device returns a device by its handle, which is its ordinal.
func (d *Driver) device(call string, x driver.Device) (*device, error) {
	err := d.enter(call)
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if x < 0 || int(x) >= len(d.devices) {
		return nil, fail(call, 101, "device %d of %d", x, len(d.devices))
	}
	return d.devices[x], nil
}

// DeviceName returns the configured name.
func (d *Driver) DeviceName(x driver.Device) (string, error) {
	v, err := d.device("cuDeviceGetName", x)
	if err != nil {
		return "", err
	}
	return v.Name, nil
}

// DeviceUUID returns a number made of the ordinal.
func (d *Driver) DeviceUUID(x driver.Device) ([16]byte, error) {
	v, err := d.device("cuDeviceGetUuid", x)
	if err != nil {
		return [16]byte{}, err
	}
	return [16]byte{0: 0xe0, 15: byte(v.ordinal + 1)}, nil
}

// DeviceTotalMem returns the configured memory in bytes.
func (d *Driver) DeviceTotalMem(x driver.Device) (int64, error) {
	v, err := d.device("cuDeviceTotalMem", x)
	if err != nil {
		return 0, err
	}
	return v.Memory, nil
}

// attributes are those of an A100, except those that depend on the capability.
var attributes = map[driver.Attribute]int{
	driver.MaxThreadsPerBlock: 1024, driver.MaxSharedPerBlock: 48 << 10, driver.WarpSize: 32,
	driver.MaxRegistersPerBlock: 65536, driver.ClockRate: 1410000, driver.MultiprocessorCount: 108,
	driver.MemoryClockRate: 1215000, driver.MemoryBusWidth: 5120, driver.L2CacheSize: 40 << 20,
	driver.MaxThreadsPerMulti: 2048, driver.MaxSharedPerMulti: 164 << 10, driver.MaxRegistersPerMulti: 65536,
	driver.MaxSharedPerBlockOptin: 163 << 10, driver.SharedReservedPerBlock: 1 << 10, driver.MaxBlocksPerMulti: 32,
}

// attribute returns an attribute of a device: the configured one, that of the capability, or an A100's.
func (v *device) attribute(a driver.Attribute) (int, bool) {
	if x, ok := v.Attributes[a]; ok {
		return x, true
	}
	switch a {
	case driver.ComputeCapabilityMajor:
		return v.Capability / 10, true
	case driver.ComputeCapabilityMinor:
		return v.Capability % 10, true
	}
	if v.Capability < 80 { // of a T4
		switch a {
		case driver.MaxThreadsPerMulti:
			return 1024, true
		case driver.MaxSharedPerMulti, driver.MaxSharedPerBlockOptin:
			return 64 << 10, true
		case driver.SharedReservedPerBlock:
			return 0, true
		case driver.MaxBlocksPerMulti:
			return 16, true
		case driver.MultiprocessorCount:
			return 40, true
		}
	}
	if v.Capability >= 90 { // of an H100
		switch a {
		case driver.MaxSharedPerMulti:
			return 228 << 10, true
		case driver.MaxSharedPerBlockOptin:
			return 227 << 10, true
		case driver.MultiprocessorCount:
			return 132, true
		}
	}
	x, ok := attributes[a]
	return x, ok
}

// DeviceAttribute returns an attribute of a device.
func (d *Driver) DeviceAttribute(a driver.Attribute, x driver.Device) (int, error) {
	v, err := d.device("cuDeviceGetAttribute", x)
	if err != nil {
		return 0, err
	}
	n, ok := v.attribute(a)
	if !ok {
		return 0, fail("cuDeviceGetAttribute", 1, "attribute %d", a)
	}
	return n, nil
}
