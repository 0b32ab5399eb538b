//go:build !nogpu

package libcuda

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"prismtop/gpu/driver"
	"prismtop/gpu/library"
)

// hot holds the addresses of the functions that a loop calls, and this file all calls of them. purego.SyscallN is a
// third to a quarter of the price of a function bound by RegisterFunc and allocates nothing.
//
// SyscallN takes addresses as uintptr, which the garbage collector does not update. Where a variable lives on the stack
// of its goroutine, and that stack grows between the conversion and the call, the driver would read or write the old
// stack. go vet and the race detector do not notice. SyscallN is marked //go:uintptrescapes, by which the compiler moves
// to the heap, where nothing moves, every variable whose address is converted within the argument list of the call, and
// there only. Hence the rules of this file:
//
//   - uintptr(unsafe.Pointer(…)) stands in the argument list of purego.SyscallN and nowhere else;
//   - no function but purego.SyscallN takes an address as uintptr;
//   - an address that the driver reads from memory, as the kernel's parameter, is stored in a heap object as a pointer.
type hot struct {
	setCurrent, synchronize                                          uintptr
	streamSynchronize, streamQuery, streamWaitEvent                  uintptr
	eventRecord, eventRecordWithFlags, eventQuery, eventSynchronize  uintptr
	memcpyHtoDAsync, memcpyDtoHAsync, memcpyDtoDAsync, memsetD8Async uintptr
	launchKernel, graphLaunch                                        uintptr
	launches                                                         sync.Pool // of *launch
}

// launch is the array of pointers to parameters that cuLaunchKernel reads.
type launch struct{ parameters [1]unsafe.Pointer }

// eventRecordExternal is CU_EVENT_RECORD_EXTERNAL.
const eventRecordExternal = 1

func (h *hot) bind(l library.Library) error {
	for _, f := range []struct {
		symbol  string
		address *uintptr
	}{
		{"cuCtxSetCurrent", &h.setCurrent},
		{"cuCtxSynchronize", &h.synchronize},
		{"cuStreamSynchronize", &h.streamSynchronize},
		{"cuStreamQuery", &h.streamQuery},
		{"cuStreamWaitEvent", &h.streamWaitEvent},
		{"cuEventRecord", &h.eventRecord},
		{"cuEventQuery", &h.eventQuery},
		{"cuEventSynchronize", &h.eventSynchronize},
		{"cuMemcpyHtoDAsync_v2", &h.memcpyHtoDAsync},
		{"cuMemcpyDtoHAsync_v2", &h.memcpyDtoHAsync},
		{"cuMemcpyDtoDAsync_v2", &h.memcpyDtoDAsync},
		{"cuMemsetD8Async", &h.memsetD8Async},
		{"cuLaunchKernel", &h.launchKernel},
	} {
		if *f.address = l.Address(f.symbol); *f.address == 0 {
			return fmt.Errorf("%s has no %s", l.Name(), f.symbol)
		}
	}
	h.eventRecordWithFlags = l.Address("cuEventRecordWithFlags")
	h.graphLaunch = l.Address("cuGraphLaunch")
	h.launches.New = func() any { return new(launch) }
	return nil
}

func (d *cuda) ContextSetCurrent(c driver.Context) error {
	r, _, _ := purego.SyscallN(d.hot.setCurrent, uintptr(c))
	return check("cuCtxSetCurrent", driver.Result(r))
}

func (d *cuda) ContextSynchronize() error {
	r, _, _ := purego.SyscallN(d.hot.synchronize)
	return check("cuCtxSynchronize", driver.Result(r))
}

func (d *cuda) StreamSynchronize(s driver.Stream) error {
	r, _, _ := purego.SyscallN(d.hot.streamSynchronize, uintptr(s))
	return check("cuStreamSynchronize", driver.Result(r))
}

func (d *cuda) StreamQuery(s driver.Stream) (bool, error) {
	r, _, _ := purego.SyscallN(d.hot.streamQuery, uintptr(s))
	return done("cuStreamQuery", driver.Result(r))
}

func (d *cuda) StreamWaitEvent(s driver.Stream, e driver.Event) error {
	r, _, _ := purego.SyscallN(d.hot.streamWaitEvent, uintptr(s), uintptr(e), 0)
	return check("cuStreamWaitEvent", driver.Result(r))
}

func (d *cuda) EventRecord(e driver.Event, s driver.Stream) error {
	r, _, _ := purego.SyscallN(d.hot.eventRecord, uintptr(e), uintptr(s))
	return check("cuEventRecord", driver.Result(r))
}

func (d *cuda) EventRecordExternal(e driver.Event, s driver.Stream) error {
	if d.hot.eventRecordWithFlags == 0 {
		return missing("cuEventRecordWithFlags")
	}
	r, _, _ := purego.SyscallN(d.hot.eventRecordWithFlags, uintptr(e), uintptr(s), eventRecordExternal)
	return check("cuEventRecordWithFlags", driver.Result(r))
}

func (d *cuda) EventQuery(e driver.Event) (bool, error) {
	r, _, _ := purego.SyscallN(d.hot.eventQuery, uintptr(e))
	return done("cuEventQuery", driver.Result(r))
}

func (d *cuda) EventSynchronize(e driver.Event) error {
	r, _, _ := purego.SyscallN(d.hot.eventSynchronize, uintptr(e))
	return check("cuEventSynchronize", driver.Result(r))
}

func (d *cuda) MemcpyHtoDAsync(dst driver.Pointer, src []byte, s driver.Stream) error {
	r, _, _ := purego.SyscallN(d.hot.memcpyHtoDAsync, uintptr(dst), uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(len(src)), uintptr(s))
	return check("cuMemcpyHtoDAsync", driver.Result(r))
}

func (d *cuda) MemcpyDtoHAsync(dst []byte, src driver.Pointer, s driver.Stream) error {
	r, _, _ := purego.SyscallN(d.hot.memcpyDtoHAsync, uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(src), uintptr(len(dst)), uintptr(s))
	return check("cuMemcpyDtoHAsync", driver.Result(r))
}

func (d *cuda) MemcpyDtoDAsync(dst, src driver.Pointer, bytes int64, s driver.Stream) error {
	r, _, _ := purego.SyscallN(d.hot.memcpyDtoDAsync, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
	return check("cuMemcpyDtoDAsync", driver.Result(r))
}

func (d *cuda) MemsetD8Async(dst driver.Pointer, value byte, bytes int64, s driver.Stream) error {
	r, _, _ := purego.SyscallN(d.hot.memsetD8Async, uintptr(dst), uintptr(value), uintptr(bytes), uintptr(s))
	return check("cuMemsetD8Async", driver.Result(r))
}

func (d *cuda) LaunchKernel(f driver.Function, grid, block driver.Dim, shared int, s driver.Stream, parameter []byte) error {
	if len(parameter) == 0 {
		return &driver.Error{Call: "cuLaunchKernel", Result: driver.InvalidValue, Detail: "no parameter"}
	}
	l := d.hot.launches.Get().(*launch)
	l.parameters[0] = unsafe.Pointer(unsafe.SliceData(parameter)) // l is on the heap, hence parameter is
	r, _, _ := purego.SyscallN(d.hot.launchKernel, uintptr(f),
		uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2]),
		uintptr(block[0]), uintptr(block[1]), uintptr(block[2]),
		uintptr(uint32(shared)), uintptr(s), uintptr(unsafe.Pointer(&l.parameters)), 0)
	l.parameters[0] = nil
	d.hot.launches.Put(l)
	return check("cuLaunchKernel", driver.Result(r))
}

func (d *cuda) GraphLaunch(x driver.GraphExec, s driver.Stream) error {
	if d.hot.graphLaunch == 0 {
		return missing("cuGraphLaunch")
	}
	r, _, _ := purego.SyscallN(d.hot.graphLaunch, uintptr(x), uintptr(s))
	return check("cuGraphLaunch", driver.Result(r))
}

// done is check for queries, where "not ready" is an answer.
func done(call string, r driver.Result) (bool, error) {
	if r == driver.NotReady {
		return false, nil
	}
	err := check(call, r)
	return err == nil, err
}
