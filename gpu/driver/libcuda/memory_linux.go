//go:build !nogpu

package libcuda

import (
	"fmt"
	"unsafe"

	"prismtop/gpu/driver"
)

// Calls that allocate and free memory, and copies that wait.

// hostMapped is CU_MEMHOSTALLOC_DEVICEMAP: the device can address the memory.
const hostMapped = 2

func (d *cuda) MemAlloc(bytes int64) (driver.Pointer, error) {
	var p driver.Pointer
	err := allocated("cuMemAlloc", d.cuMemAlloc(&p, uint64(bytes)), bytes)
	return p, err
}

func (d *cuda) MemFree(p driver.Pointer) error { return check("cuMemFree", d.cuMemFree(p)) }

// MemHostAlloc returns memory that the driver allocated: Go's collector neither moves nor frees it.
func (d *cuda) MemHostAlloc(bytes int) ([]byte, error) {
	var p unsafe.Pointer
	if err := allocated("cuMemHostAlloc", d.cuMemHostAlloc(&p, uint64(bytes), hostMapped), int64(bytes)); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), bytes), nil
}

// MemHostFree frees by the address of the first byte: memory must start where MemHostAlloc's does.
func (d *cuda) MemHostFree(memory []byte) error {
	return check("cuMemFreeHost", d.cuMemFreeHost(unsafe.Pointer(unsafe.SliceData(memory))))
}

func (d *cuda) MemHostDevicePointer(memory []byte) (driver.Pointer, error) {
	var p driver.Pointer
	err := check("cuMemHostGetDevicePointer",
		d.cuMemHostGetDevicePointer(&p, unsafe.Pointer(unsafe.SliceData(memory)), 0))
	return p, err
}

func (d *cuda) MemcpyHtoD(dst driver.Pointer, src []byte) error {
	return check("cuMemcpyHtoD", d.cuMemcpyHtoD(dst, unsafe.Pointer(unsafe.SliceData(src)), uint64(len(src))))
}

func (d *cuda) MemcpyDtoH(dst []byte, src driver.Pointer) error {
	return check("cuMemcpyDtoH", d.cuMemcpyDtoH(unsafe.Pointer(unsafe.SliceData(dst)), src, uint64(len(dst))))
}

// allocated is check for allocations, whose error says how much was asked for.
func allocated(call string, r driver.Result, bytes int64) error {
	if r == 0 {
		return nil
	}
	return &driver.Error{Call: call, Result: r, Detail: fmt.Sprintf("%d bytes asked for", bytes)}
}
