//go:build cuda && linux && !nogpu

package gorgonia

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"gorgonia.org/cu"

	"prismtop/gpu/driver"
	"prismtop/gpu/driver/libcuda"
	"prismtop/gpu/library"
)

// through calls cu; the methods that it does not define are libcuda's.
type through struct{ driver.Driver }

// Open returns the driver, which cu has initialised already. It fails if libcuda.so.1 lacks
// a function that cu lacks too.
func Open() (driver.Driver, error) {
	d, err := libcuda.Open()
	if err != nil {
		return nil, err
	}
	return through{d}, nil
}

// handle are the types of cu that hold nothing but a handle of the driver.
type handle interface {
	cu.CUContext | cu.Module | cu.Function | cu.Stream | cu.Event
}

// number and object convert handles between cu's types and package driver's.
func number[H handle](h H) uintptr { return *(*uintptr)(unsafe.Pointer(&h)) }
func object[H handle](n uintptr) H { return *(*H)(unsafe.Pointer(&n)) }

func stream(s driver.Stream) cu.Stream { return object[cu.Stream](uintptr(s)) }
func event(e driver.Event) cu.Event    { return object[cu.Event](uintptr(e)) }

// check converts an error of cu, whose type is not exported: an integer, the result.
func check(call string, err error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return &driver.Error{Call: call, Result: driver.Result(v.Int())}
	}
	return &driver.Error{Call: call, Result: driver.Unknown, Detail: err.Error()}
}

func done(call string, err error) (bool, error) {
	if err == cu.NotReady {
		return false, nil
	}
	return err == nil, check(call, err)
}

// sized is check for allocations, whose error says how much was asked for.
func sized(call string, bytes int64, err error) error {
	if err = check(call, err); err != nil {
		err.(*driver.Error).Detail = fmt.Sprintf("%d bytes asked for", bytes)
	}
	return err
}

func (d through) Name() string { return "gorgonia.org/cu over " + d.Driver.Name() }

// Init does nothing: cu calls cuInit before main.
func (through) Init() error { return nil }

func (through) Version() (int, error) {
	version := cu.Version()
	if version < 0 {
		return 0, &driver.Error{Call: "cuDriverGetVersion", Result: driver.Unknown}
	}
	return version, nil
}

func (through) DeviceCount() (int, error) {
	count, err := cu.NumDevices()
	return count, check("cuDeviceGetCount", err)
}

func (through) DeviceGet(ordinal int) (driver.Device, error) {
	d, err := cu.GetDevice(ordinal)
	return driver.Device(d), check("cuDeviceGet", err)
}

func (through) DeviceName(d driver.Device) (string, error) {
	name, err := cu.Device(d).Name()
	return name, check("cuDeviceGetName", err)
}

func (through) DeviceTotalMem(d driver.Device) (int64, error) {
	bytes, err := cu.Device(d).TotalMem()
	return bytes, check("cuDeviceTotalMem", err)
}

func (through) DeviceAttribute(a driver.Attribute, d driver.Device) (int, error) {
	value, err := cu.Device(d).Attribute(cu.DeviceAttribute(a))
	return value, check("cuDeviceGetAttribute", err)
}

func (through) PrimaryContextRetain(d driver.Device) (driver.Context, error) {
	c, err := cu.Device(d).RetainPrimaryCtx()
	return driver.Context(number(c)), check("cuDevicePrimaryCtxRetain", err)
}

func (through) PrimaryContextRelease(d driver.Device) error {
	return check("cuDevicePrimaryCtxRelease", cu.Device(d).ReleasePrimaryCtx())
}

func (through) ContextSetCurrent(c driver.Context) error {
	return check("cuCtxSetCurrent", cu.SetCurrentContext(object[cu.CUContext](uintptr(c))))
}

func (through) ContextSynchronize() error { return check("cuCtxSynchronize", cu.Synchronize()) }

func (through) MemGetInfo() (free, total int64, err error) {
	free, total, err = cu.MemInfo()
	return free, total, check("cuMemGetInfo", err)
}

func (through) ModuleLoadData(ptx []byte) (driver.Module, error) {
	const call = "cuModuleLoadDataEx"
	text, ok := bytes.CutSuffix(ptx, []byte{0})
	if !ok {
		return 0, &driver.Error{Call: call, Result: driver.InvalidValue, Detail: "the PTX does not end in a NUL byte"}
	}
	log := &cu.JITErrorLogBuffer{Buffer: make([]byte, 16<<10)}
	m, err := cu.LoadDataEx(string(text), log)
	runtime.KeepAlive(log)
	if err = check(call, err); err != nil {
		err.(*driver.Error).Detail = strings.TrimSpace(library.Text(log.Buffer))
	}
	return driver.Module(number(m)), err
}

func (through) ModuleUnload(m driver.Module) error {
	return check("cuModuleUnload", object[cu.Module](uintptr(m)).Unload())
}

func (through) ModuleGetFunction(m driver.Module, name string) (driver.Function, error) {
	f, err := object[cu.Module](uintptr(m)).Function(name)
	if err = check("cuModuleGetFunction", err); err != nil {
		err.(*driver.Error).Detail = name
	}
	return driver.Function(number(f)), err
}

func (through) FunctionAttribute(a driver.FunctionAttribute, f driver.Function) (int, error) {
	value, err := object[cu.Function](uintptr(f)).Attribute(cu.FunctionAttribute(a))
	return value, check("cuFuncGetAttribute", err)
}

func (through) OccupancyBlocks(f driver.Function, threads, shared int) (int, error) {
	blocks, err := object[cu.Function](uintptr(f)).MaxActiveBlocksPerMultiProcessor(threads, int64(shared))
	return blocks, check("cuOccupancyMaxActiveBlocksPerMultiprocessor", err)
}

func (through) MemAlloc(bytes int64) (driver.Pointer, error) {
	p, err := cu.MemAlloc(bytes)
	return driver.Pointer(p), sized("cuMemAlloc", bytes, err)
}

func (through) MemFree(p driver.Pointer) error {
	return check("cuMemFree", cu.MemFree(cu.DevicePtr(p)))
}

func (through) MemcpyHtoD(dst driver.Pointer, src []byte) error {
	return check("cuMemcpyHtoD", cu.MemcpyHtoD(cu.DevicePtr(dst), unsafe.Pointer(unsafe.SliceData(src)),
		int64(len(src))))
}

func (through) MemcpyDtoH(dst []byte, src driver.Pointer) error {
	return check("cuMemcpyDtoH", cu.MemcpyDtoH(unsafe.Pointer(unsafe.SliceData(dst)), cu.DevicePtr(src),
		int64(len(dst))))
}

func (through) MemcpyHtoDAsync(dst driver.Pointer, src []byte, s driver.Stream) error {
	return check("cuMemcpyHtoDAsync", cu.MemcpyHtoDAsync(cu.DevicePtr(dst), unsafe.Pointer(unsafe.SliceData(src)),
		int64(len(src)), stream(s)))
}

func (through) MemcpyDtoHAsync(dst []byte, src driver.Pointer, s driver.Stream) error {
	return check("cuMemcpyDtoHAsync", cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(dst)), cu.DevicePtr(src),
		int64(len(dst)), stream(s)))
}

func (through) MemcpyDtoDAsync(dst, src driver.Pointer, bytes int64, s driver.Stream) error {
	return check("cuMemcpyDtoDAsync", cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), bytes, stream(s)))
}

func (through) MemsetD8Async(dst driver.Pointer, value byte, bytes int64, s driver.Stream) error {
	return check("cuMemsetD8Async", cu.MemsetD8Async(cu.DevicePtr(dst), value, bytes, stream(s)))
}

func (through) StreamCreate() (driver.Stream, error) {
	s, err := cu.MakeStream(cu.NonBlocking)
	return driver.Stream(number(s)), check("cuStreamCreate", err)
}

func (through) StreamDestroy(s driver.Stream) error {
	destroyed := stream(s)
	return check("cuStreamDestroy", destroyed.Destroy())
}

func (through) StreamSynchronize(s driver.Stream) error {
	return check("cuStreamSynchronize", stream(s).Synchronize())
}

func (through) StreamQuery(s driver.Stream) (bool, error) {
	return done("cuStreamQuery", stream(s).Query())
}

func (through) StreamWaitEvent(s driver.Stream, e driver.Event) error {
	return check("cuStreamWaitEvent", stream(s).Wait(event(e), 0))
}

func (through) EventCreate(timed bool) (driver.Event, error) {
	flags := cu.DisableTiming
	if timed {
		flags = cu.DefaultEvent
	}
	e, err := cu.MakeEvent(flags)
	return driver.Event(number(e)), check("cuEventCreate", err)
}

func (through) EventDestroy(e driver.Event) error {
	destroyed := event(e)
	return check("cuEventDestroy", cu.DestroyEvent(&destroyed))
}

func (through) EventRecord(e driver.Event, s driver.Stream) error {
	return check("cuEventRecord", event(e).Record(stream(s)))
}

func (through) EventQuery(e driver.Event) (bool, error) {
	return done("cuEventQuery", event(e).Query())
}

func (through) EventSynchronize(e driver.Event) error {
	return check("cuEventSynchronize", event(e).Synchronize())
}

func (through) EventElapsed(start, end driver.Event) (float32, error) {
	milliseconds, err := event(start).Elapsed(event(end))
	return float32(milliseconds), check("cuEventElapsedTime", err)
}
