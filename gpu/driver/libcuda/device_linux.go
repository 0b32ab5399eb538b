//go:build !nogpu

package libcuda

import (
	"prismtop/gpu/driver"
	"prismtop/gpu/library"
)

// Calls about devices and their contexts.

func (d *cuda) Init() error { return check("cuInit", d.cuInit(0)) }

func (d *cuda) Version() (int, error) {
	var version int32
	err := check("cuDriverGetVersion", d.cuDriverGetVersion(&version))
	return int(version), err
}

func (d *cuda) DeviceCount() (int, error) {
	var count int32
	err := check("cuDeviceGetCount", d.cuDeviceGetCount(&count))
	return int(count), err
}

func (d *cuda) DeviceGet(ordinal int) (driver.Device, error) {
	var device driver.Device
	err := check("cuDeviceGet", d.cuDeviceGet(&device, int32(ordinal)))
	return device, err
}

func (d *cuda) DeviceName(device driver.Device) (string, error) {
	name := make([]byte, 256)
	err := check("cuDeviceGetName", d.cuDeviceGetName(&name[0], int32(len(name)-1), device))
	return library.Text(name), err
}

func (d *cuda) DeviceUUID(device driver.Device) ([16]byte, error) {
	var uuid [16]byte
	if d.cuDeviceGetUuid == nil {
		return uuid, missing("cuDeviceGetUuid")
	}
	err := check("cuDeviceGetUuid", d.cuDeviceGetUuid(&uuid, device))
	return uuid, err
}

func (d *cuda) DeviceTotalMem(device driver.Device) (int64, error) {
	var bytes uint64
	err := check("cuDeviceTotalMem", d.cuDeviceTotalMem(&bytes, device))
	return int64(bytes), err
}

func (d *cuda) DeviceAttribute(a driver.Attribute, device driver.Device) (int, error) {
	var value int32
	err := check("cuDeviceGetAttribute", d.cuDeviceGetAttribute(&value, a, device))
	return int(value), err
}

func (d *cuda) PrimaryContextRetain(device driver.Device) (driver.Context, error) {
	var c driver.Context
	err := check("cuDevicePrimaryCtxRetain", d.cuDevicePrimaryCtxRetain(&c, device))
	return c, err
}

func (d *cuda) PrimaryContextRelease(device driver.Device) error {
	return check("cuDevicePrimaryCtxRelease", d.cuDevicePrimaryCtxRelease(device))
}

func (d *cuda) MemGetInfo() (free, total int64, err error) {
	var f, t uint64
	err = check("cuMemGetInfo", d.cuMemGetInfo(&f, &t))
	return int64(f), int64(t), err
}
