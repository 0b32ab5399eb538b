//go:build !nogpu

package libcuda

import (
	"fmt"
	"unsafe"

	"prismtop/gpu/driver"
	"prismtop/gpu/library"
)

// The library and its functions, opened and bound, and the errors of calls.

// cuda is the open library. The func variables are bound by purego.RegisterFunc, which keeps pointer arguments alive
// and in place during a call and costs some hundred nanoseconds: they serve calls outside the loop. hot has the others.
type cuda struct {
	name string
	hot  hot

	cuInit                    func(flags uint32) driver.Result
	cuDriverGetVersion        func(version *int32) driver.Result
	cuDeviceGetCount          func(count *int32) driver.Result
	cuDeviceGet               func(device *driver.Device, ordinal int32) driver.Result
	cuDeviceGetName           func(name *byte, length int32, d driver.Device) driver.Result
	cuDeviceGetUuid           func(uuid *[16]byte, d driver.Device) driver.Result
	cuDeviceTotalMem          func(bytes *uint64, d driver.Device) driver.Result
	cuDeviceGetAttribute      func(value *int32, a driver.Attribute, d driver.Device) driver.Result
	cuDevicePrimaryCtxRetain  func(c *driver.Context, d driver.Device) driver.Result
	cuDevicePrimaryCtxRelease func(d driver.Device) driver.Result
	cuMemGetInfo              func(free, total *uint64) driver.Result

	cuModuleLoadDataEx  func(m *driver.Module, image *byte, options uint32, names *int32, values *jitLog) driver.Result
	cuModuleUnload      func(m driver.Module) driver.Result
	cuModuleGetFunction func(f *driver.Function, m driver.Module, name string) driver.Result
	cuFuncGetAttribute  func(value *int32, a driver.FunctionAttribute, f driver.Function) driver.Result
	cuFuncSetAttribute  func(f driver.Function, a driver.FunctionAttribute, value int32) driver.Result
	cuOccupancyBlocks   func(blocks *int32, f driver.Function, threads int32, shared uint64) driver.Result

	cuMemAlloc                func(p *driver.Pointer, bytes uint64) driver.Result
	cuMemFree                 func(p driver.Pointer) driver.Result
	cuMemHostAlloc            func(p *unsafe.Pointer, bytes uint64, flags uint32) driver.Result
	cuMemFreeHost             func(p unsafe.Pointer) driver.Result
	cuMemHostGetDevicePointer func(p *driver.Pointer, host unsafe.Pointer, flags uint32) driver.Result
	cuMemcpyHtoD              func(dst driver.Pointer, src unsafe.Pointer, bytes uint64) driver.Result
	cuMemcpyDtoH              func(dst unsafe.Pointer, src driver.Pointer, bytes uint64) driver.Result

	cuStreamCreate     func(s *driver.Stream, flags uint32) driver.Result
	cuStreamDestroy    func(s driver.Stream) driver.Result
	cuEventCreate      func(e *driver.Event, flags uint32) driver.Result
	cuEventDestroy     func(e driver.Event) driver.Result
	cuEventElapsedTime func(milliseconds *float32, start, end driver.Event) driver.Result

	cuStreamBeginCapture func(s driver.Stream, mode int32) driver.Result
	cuStreamEndCapture   func(s driver.Stream, g *driver.Graph) driver.Result
	cuGraphDestroy       func(g driver.Graph) driver.Result
	cuGraphInstantiate   func(x *driver.GraphExec, g driver.Graph, flags uint64) driver.Result
	cuGraphUpload        func(x driver.GraphExec, s driver.Stream) driver.Result
	cuGraphExecDestroy   func(x driver.GraphExec) driver.Result
}

// Open opens the CUDA driver; the second path is that of the Windows Subsystem for Linux.
func Open() (driver.Driver, error) {
	return OpenFrom("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")
}

// OpenFrom opens the first of the libraries that loads.
func OpenFrom(paths ...string) (driver.Driver, error) {
	l, err := library.Open(paths...)
	if err != nil {
		return nil, err
	}
	d := &cuda{name: l.Name()}
	err = l.BindAll([]library.Binding{
		{Symbol: "cuInit", Func: &d.cuInit},
		{Symbol: "cuDriverGetVersion", Func: &d.cuDriverGetVersion},
		{Symbol: "cuDeviceGetCount", Func: &d.cuDeviceGetCount},
		{Symbol: "cuDeviceGet", Func: &d.cuDeviceGet},
		{Symbol: "cuDeviceGetName", Func: &d.cuDeviceGetName},
		{Symbol: "cuDeviceTotalMem_v2", Func: &d.cuDeviceTotalMem},
		{Symbol: "cuDeviceGetAttribute", Func: &d.cuDeviceGetAttribute},
		{Symbol: "cuDevicePrimaryCtxRetain", Func: &d.cuDevicePrimaryCtxRetain},
		{Symbol: "cuDevicePrimaryCtxRelease_v2", Func: &d.cuDevicePrimaryCtxRelease},
		{Symbol: "cuMemGetInfo_v2", Func: &d.cuMemGetInfo},
		{Symbol: "cuModuleLoadDataEx", Func: &d.cuModuleLoadDataEx},
		{Symbol: "cuModuleUnload", Func: &d.cuModuleUnload},
		{Symbol: "cuModuleGetFunction", Func: &d.cuModuleGetFunction},
		{Symbol: "cuFuncGetAttribute", Func: &d.cuFuncGetAttribute},
		{Symbol: "cuFuncSetAttribute", Func: &d.cuFuncSetAttribute},
		{Symbol: "cuMemAlloc_v2", Func: &d.cuMemAlloc},
		{Symbol: "cuMemFree_v2", Func: &d.cuMemFree},
		{Symbol: "cuMemHostAlloc", Func: &d.cuMemHostAlloc},
		{Symbol: "cuMemFreeHost", Func: &d.cuMemFreeHost},
		{Symbol: "cuMemHostGetDevicePointer_v2", Func: &d.cuMemHostGetDevicePointer},
		{Symbol: "cuMemcpyHtoD_v2", Func: &d.cuMemcpyHtoD},
		{Symbol: "cuMemcpyDtoH_v2", Func: &d.cuMemcpyDtoH},
		{Symbol: "cuStreamCreate", Func: &d.cuStreamCreate},
		{Symbol: "cuStreamDestroy_v2", Func: &d.cuStreamDestroy},
		{Symbol: "cuEventCreate", Func: &d.cuEventCreate},
		{Symbol: "cuEventDestroy_v2", Func: &d.cuEventDestroy},
	})
	if err != nil {
		return nil, err
	}
	if err := d.hot.bind(l); err != nil {
		return nil, err
	}
	for _, s := range []library.Binding{
		{Symbol: "cuOccupancyMaxActiveBlocksPerMultiprocessor", Func: &d.cuOccupancyBlocks},
		{Symbol: "cuStreamBeginCapture_v2", Func: &d.cuStreamBeginCapture},
		{Symbol: "cuStreamEndCapture", Func: &d.cuStreamEndCapture},
		{Symbol: "cuGraphDestroy", Func: &d.cuGraphDestroy},
		{Symbol: "cuGraphInstantiateWithFlags", Func: &d.cuGraphInstantiate},
		{Symbol: "cuGraphUpload", Func: &d.cuGraphUpload},
		{Symbol: "cuGraphExecDestroy", Func: &d.cuGraphExecDestroy},
	} {
		_ = l.Bind(s.Symbol, s.Func) // stays nil, which the methods report
	}
	// The second version returns a partition's own UUID.
	if l.Bind("cuDeviceGetUuid_v2", &d.cuDeviceGetUuid) != nil {
		_ = l.Bind("cuDeviceGetUuid", &d.cuDeviceGetUuid)
	}
	if l.Bind("cuEventElapsedTime_v2", &d.cuEventElapsedTime) != nil {
		err = l.Bind("cuEventElapsedTime", &d.cuEventElapsedTime)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (d *cuda) Name() string { return d.name }

// check returns the error of a call's result, nil for success.
func check(call string, r driver.Result) error {
	if r == 0 {
		return nil
	}
	return &driver.Error{Call: call, Result: r}
}

func missing(call string) error { return fmt.Errorf("%s: %w", call, driver.ErrMissing) }
