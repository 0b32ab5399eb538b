// Package driver is the part of the CUDA driver API that prismtop uses, as an interface of Go types with errors as
// values. Its implementations are package libcuda, which opens the installed driver at run time, and package emulator,
// which executes PTX in Go for tests.
//
// Every method corresponds to the driver function of the same name in its newest version, such as cuMemAlloc_v2. A
// context is current to a thread of the operating system: a caller locks its goroutine to its thread
// (runtime.LockOSThread), calls ContextSetCurrent, and stays locked for as long as it calls methods that need a
// context. An error is a *Error unless the library lacks the function, which is ErrMissing.
package driver

import "fmt"

// Handles of the driver's objects; 0 is none.
type (
	Device    int32
	Context   uintptr
	Module    uintptr
	Function  uintptr
	Stream    uintptr
	Event     uintptr
	Graph     uintptr
	GraphExec uintptr
)

// Pointer is an address in the memory of a device; 0 is none.
type Pointer uint64

// Dim is the size of a grid in blocks or of a block in threads, along x, y and z.
type Dim [3]uint32

// X, XY and XYZ return sizes with 1 for the missing axes.
func X(x int) Dim         { return Dim{uint32(x), 1, 1} }
func XY(x, y int) Dim     { return Dim{uint32(x), uint32(y), 1} }
func XYZ(x, y, z int) Dim { return Dim{uint32(x), uint32(y), uint32(z)} }

// UUID returns a device's identifier as NVML names it: "GPU-…".
func UUID(u [16]byte) string {
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// Driver is the CUDA driver.
type Driver interface {
	// Name is the library's file, or the implementation's name: "libcuda.so.1", "emulator".
	Name() string

	Init() error
	Version() (int, error) // 1000·major + 10·minor

	DeviceCount() (int, error)
	DeviceGet(ordinal int) (Device, error)
	DeviceName(d Device) (string, error)
	DeviceUUID(d Device) ([16]byte, error)
	DeviceTotalMem(d Device) (int64, error)
	DeviceAttribute(a Attribute, d Device) (int, error)

	PrimaryContextRetain(d Device) (Context, error)
	PrimaryContextRelease(d Device) error
	ContextSetCurrent(c Context) error // 0 for none
	ContextSynchronize() error
	MemGetInfo() (free, total int64, err error)

	// ModuleLoadData compiles PTX text, which ends in a NUL byte, for the device. The error of text that does not
	// compile holds the compiler's log.
	ModuleLoadData(ptx []byte) (Module, error)
	ModuleUnload(m Module) error
	ModuleGetFunction(m Module, name string) (Function, error)
	FunctionAttribute(a FunctionAttribute, f Function) (int, error)
	FunctionSetAttribute(f Function, a FunctionAttribute, value int) error
	// OccupancyBlocks returns the number of blocks of that size that fit on a multiprocessor at once.
	OccupancyBlocks(f Function, threads, shared int) (int, error)

	MemAlloc(bytes int64) (Pointer, error)
	MemFree(p Pointer) error
	// MemHostAlloc allocates page-locked memory of the host that the device can address; MemHostFree frees it.
	MemHostAlloc(bytes int) ([]byte, error)
	MemHostFree(memory []byte) error
	// MemHostDevicePointer returns the device's address of page-locked memory.
	MemHostDevicePointer(memory []byte) (Pointer, error)

	MemcpyHtoD(dst Pointer, src []byte) error
	MemcpyDtoH(dst []byte, src Pointer) error
	// The asynchronous copies need page-locked memory on the host, which must stay untouched until they are done.
	MemcpyHtoDAsync(dst Pointer, src []byte, s Stream) error
	MemcpyDtoHAsync(dst []byte, src Pointer, s Stream) error
	MemcpyDtoDAsync(dst, src Pointer, bytes int64, s Stream) error
	MemsetD8Async(dst Pointer, value byte, bytes int64, s Stream) error

	StreamCreate() (Stream, error) // does not synchronise with the default stream
	StreamDestroy(s Stream) error
	StreamSynchronize(s Stream) error
	StreamQuery(s Stream) (done bool, err error)
	StreamWaitEvent(s Stream, e Event) error

	// EventCreate makes an event that measures time, or one for ordering alone.
	EventCreate(timed bool) (Event, error)
	EventDestroy(e Event) error
	EventRecord(e Event, s Stream) error
	// EventRecordExternal records an event within a captured graph such that it can be queried from outside.
	EventRecordExternal(e Event, s Stream) error
	EventQuery(e Event) (done bool, err error)
	EventSynchronize(e Event) error
	EventElapsed(start, end Event) (milliseconds float32, err error)

	// LaunchKernel enqueues a kernel. parameter is the kernel's only parameter, a struct by value in its memory
	// layout; it may be reused once the call returns. shared is the dynamic shared memory of a block in bytes.
	LaunchKernel(f Function, grid, block Dim, shared int, s Stream, parameter []byte) error

	// StreamBeginCapture starts recording what this thread enqueues on a stream as a graph.
	StreamBeginCapture(s Stream) error
	StreamEndCapture(s Stream) (Graph, error)
	GraphDestroy(g Graph) error
	GraphInstantiate(g Graph) (GraphExec, error)
	GraphUpload(x GraphExec, s Stream) error
	GraphLaunch(x GraphExec, s Stream) error
	GraphExecDestroy(x GraphExec) error
}

// Attribute is a CUdevice_attribute.
type Attribute int32

// Attributes of devices.
const (
	MaxThreadsPerBlock     Attribute = 1
	MaxSharedPerBlock      Attribute = 8 // bytes, without opting in to more
	WarpSize               Attribute = 10
	MaxRegistersPerBlock   Attribute = 12
	ClockRate              Attribute = 13 // kHz
	MultiprocessorCount    Attribute = 16
	MemoryClockRate        Attribute = 36 // kHz
	MemoryBusWidth         Attribute = 37 // bits
	L2CacheSize            Attribute = 38 // bytes
	MaxThreadsPerMulti     Attribute = 39
	ComputeCapabilityMajor Attribute = 75
	ComputeCapabilityMinor Attribute = 76
	MaxSharedPerMulti      Attribute = 81 // bytes
	MaxRegistersPerMulti   Attribute = 82
	MaxSharedPerBlockOptin Attribute = 97  // bytes
	SharedReservedPerBlock Attribute = 111 // bytes
	MaxBlocksPerMulti      Attribute = 106
)

// FunctionAttribute is a CUfunction_attribute.
type FunctionAttribute int32

// Attributes of functions.
const (
	FunctionMaxThreads       FunctionAttribute = 0
	FunctionSharedBytes      FunctionAttribute = 1
	FunctionLocalBytes       FunctionAttribute = 3
	FunctionRegisters        FunctionAttribute = 4
	FunctionMaxDynamicShared FunctionAttribute = 8
)
