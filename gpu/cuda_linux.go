//go:build linux && !nogpu

package gpu

import "fmt"

// CUdevice_attribute numbers.
const (
	capabilityMajor = 75
	capabilityMinor = 76
)

// cudaDriver is libcuda through typed functions: purego keeps pointer arguments
// alive and in place during a call. The calls are rare; their overhead of some
// hundred nanoseconds does not matter.
type cudaDriver struct {
	cuInit               func(flags uint32) int32
	cuDriverGetVersion   func(version *int32) int32
	cuDeviceGetCount     func(count *int32) int32
	cuDeviceGet          func(device *int32, ordinal int32) int32
	cuDeviceGetName      func(name *byte, length int32, device int32) int32
	cuDeviceTotalMem     func(bytes *uint64, device int32) int32
	cuDeviceGetAttribute func(value *int32, attribute int32, device int32) int32
	cuDeviceGetUuid      func(uuid *[16]byte, device int32) int32
}

// openDriver opens the CUDA driver; the second path is that of the Windows
// Subsystem for Linux.
func openDriver() (driver, error) {
	return openDriverFrom("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")
}

func openDriverFrom(paths ...string) (driver, error) {
	l, err := openLibrary(paths...)
	if err != nil {
		return nil, err
	}
	d := &cudaDriver{}
	err = l.bindAll([]binding{
		{"cuInit", &d.cuInit},
		{"cuDriverGetVersion", &d.cuDriverGetVersion},
		{"cuDeviceGetCount", &d.cuDeviceGetCount},
		{"cuDeviceGet", &d.cuDeviceGet},
		{"cuDeviceGetName", &d.cuDeviceGetName},
		{"cuDeviceTotalMem_v2", &d.cuDeviceTotalMem},
		{"cuDeviceGetAttribute", &d.cuDeviceGetAttribute},
	})
	if err != nil {
		return nil, err
	}
	// The second version returns a partition's own UUID.
	if l.bind("cuDeviceGetUuid_v2", &d.cuDeviceGetUuid) != nil {
		_ = l.bind("cuDeviceGetUuid", &d.cuDeviceGetUuid)
	}
	return d, nil
}

func (d *cudaDriver) Init() int32 { return d.cuInit(0) }

func (d *cudaDriver) Version() (version, code int32) {
	code = d.cuDriverGetVersion(&version)
	return version, code
}

func (d *cudaDriver) Count() (count, code int32) {
	code = d.cuDeviceGetCount(&count)
	return count, code
}

func (d *cudaDriver) Name(ordinal int32) string {
	buffer := make([]byte, 256)
	if device, ok := d.device(ordinal); !ok || d.cuDeviceGetName(&buffer[0], int32(len(buffer)-1), device) != 0 {
		return ""
	}
	return text(buffer)
}

func (d *cudaDriver) Memory(ordinal int32) int64 {
	var bytes uint64
	if device, ok := d.device(ordinal); !ok || d.cuDeviceTotalMem(&bytes, device) != 0 {
		return 0
	}
	return int64(bytes)
}

func (d *cudaDriver) Capability(ordinal int32) [2]int32 {
	var c [2]int32
	if device, ok := d.device(ordinal); ok {
		d.cuDeviceGetAttribute(&c[0], capabilityMajor, device)
		d.cuDeviceGetAttribute(&c[1], capabilityMinor, device)
	}
	return c
}

func (d *cudaDriver) UUID(ordinal int32) string {
	var u [16]byte
	if d.cuDeviceGetUuid == nil {
		return ""
	}
	if device, ok := d.device(ordinal); !ok || d.cuDeviceGetUuid(&u, device) != 0 {
		return ""
	}
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

func (d *cudaDriver) device(ordinal int32) (device int32, ok bool) {
	ok = d.cuDeviceGet(&device, ordinal) == 0
	return device, ok
}
