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

// hot holds the addresses of the functions that a loop calls, and this file all calls of them. purego.SyscallN takes a
// third of the time of a function bound by RegisterFunc and, given a slice, allocates nothing.
//
// SyscallN takes addresses as uintptr, which Go does not update. A variable on the stack of its goroutine moves when
// that stack grows, and an address converted before then leads the driver to the old stack; go vet and the race
// detector do not report it. Variables on the heap do not move. Hence the rule of this file: the only addresses given
// to the driver are those that address and kernel store in a slot as a pointer. A slot is on the heap, so the compiler
// puts whatever it points to there too; during the call, the pointer also keeps that memory from the collector.
type hot struct {
	setCurrent, synchronize                                          uintptr
	streamSynchronize, streamQuery, streamWaitEvent                  uintptr
	eventRecord, eventRecordWithFlags, eventQuery, eventSynchronize  uintptr
	memcpyHtoDAsync, memcpyDtoHAsync, memcpyDtoDAsync, memsetD8Async uintptr
	launchKernel, graphLaunch                                        uintptr

	slots sync.Pool // of *slot
}

// slot has the arguments of one call: the list of SyscallN, and the one pointer that a call may need.
type slot struct {
	arguments [11]uintptr
	pointer   unsafe.Pointer
}

// call calls a function with numbers and handles. It must not be given an address.
func (h *hot) call(fn uintptr, arguments ...uintptr) driver.Result {
	s := h.slots.Get().(*slot)
	r, _, _ := purego.SyscallN(fn, s.arguments[:copy(s.arguments[:], arguments)]...)
	h.slots.Put(s)
	return driver.Result(r)
}

// address is call with the address of memory as argument i, for which arguments hold a 0.
func (h *hot) address(i int, memory []byte, fn uintptr, arguments ...uintptr) driver.Result {
	s := h.slots.Get().(*slot)
	n := copy(s.arguments[:], arguments)
	s.pointer = unsafe.Pointer(unsafe.SliceData(memory))
	s.arguments[i] = uintptr(s.pointer)
	r, _, _ := purego.SyscallN(fn, s.arguments[:n]...)
	s.pointer = nil
	h.slots.Put(s)
	return driver.Result(r)
}

// kernel is call with argument i set to cuLaunchKernel's parameter array, which has one entry.
func (h *hot) kernel(i int, parameter []byte, fn uintptr, arguments ...uintptr) driver.Result {
	s := h.slots.Get().(*slot)
	n := copy(s.arguments[:], arguments)
	s.pointer = unsafe.Pointer(unsafe.SliceData(parameter))
	s.arguments[i] = uintptr(unsafe.Pointer(&s.pointer))
	r, _, _ := purego.SyscallN(fn, s.arguments[:n]...)
	s.pointer = nil
	h.slots.Put(s)
	return driver.Result(r)
}

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
	h.slots.New = func() any { return new(slot) }
	return nil
}

func (d *cuda) ContextSetCurrent(c driver.Context) error {
	return check("cuCtxSetCurrent", d.hot.call(d.hot.setCurrent, uintptr(c)))
}

func (d *cuda) ContextSynchronize() error {
	return check("cuCtxSynchronize", d.hot.call(d.hot.synchronize))
}

func (d *cuda) StreamSynchronize(s driver.Stream) error {
	return check("cuStreamSynchronize", d.hot.call(d.hot.streamSynchronize, uintptr(s)))
}

func (d *cuda) StreamQuery(s driver.Stream) (bool, error) {
	return done("cuStreamQuery", d.hot.call(d.hot.streamQuery, uintptr(s)))
}

func (d *cuda) StreamWaitEvent(s driver.Stream, e driver.Event) error {
	return check("cuStreamWaitEvent", d.hot.call(d.hot.streamWaitEvent, uintptr(s), uintptr(e), 0))
}

func (d *cuda) EventRecord(e driver.Event, s driver.Stream) error {
	return check("cuEventRecord", d.hot.call(d.hot.eventRecord, uintptr(e), uintptr(s)))
}

func (d *cuda) EventRecordExternal(e driver.Event, s driver.Stream) error {
	if d.hot.eventRecordWithFlags == 0 {
		return missing("cuEventRecordWithFlags")
	}
	return check("cuEventRecordWithFlags", d.hot.call(d.hot.eventRecordWithFlags, uintptr(e), uintptr(s),
		eventRecordExternal))
}

func (d *cuda) EventQuery(e driver.Event) (bool, error) {
	return done("cuEventQuery", d.hot.call(d.hot.eventQuery, uintptr(e)))
}

func (d *cuda) EventSynchronize(e driver.Event) error {
	return check("cuEventSynchronize", d.hot.call(d.hot.eventSynchronize, uintptr(e)))
}

func (d *cuda) MemcpyHtoDAsync(dst driver.Pointer, src []byte, s driver.Stream) error {
	return check("cuMemcpyHtoDAsync", d.hot.address(1, src, d.hot.memcpyHtoDAsync, uintptr(dst), 0, uintptr(len(src)),
		uintptr(s)))
}

func (d *cuda) MemcpyDtoHAsync(dst []byte, src driver.Pointer, s driver.Stream) error {
	return check("cuMemcpyDtoHAsync", d.hot.address(0, dst, d.hot.memcpyDtoHAsync, 0, uintptr(src), uintptr(len(dst)),
		uintptr(s)))
}

func (d *cuda) MemcpyDtoDAsync(dst, src driver.Pointer, bytes int64, s driver.Stream) error {
	return check("cuMemcpyDtoDAsync", d.hot.call(d.hot.memcpyDtoDAsync, uintptr(dst), uintptr(src), uintptr(bytes),
		uintptr(s)))
}

func (d *cuda) MemsetD8Async(dst driver.Pointer, value byte, bytes int64, s driver.Stream) error {
	return check("cuMemsetD8Async", d.hot.call(d.hot.memsetD8Async, uintptr(dst), uintptr(value), uintptr(bytes),
		uintptr(s)))
}

func (d *cuda) LaunchKernel(f driver.Function, grid, block driver.Dim, shared int, s driver.Stream,
	parameter []byte) error {
	if len(parameter) == 0 {
		return &driver.Error{Call: "cuLaunchKernel", Result: driver.InvalidValue, Detail: "no parameter"}
	}
	return check("cuLaunchKernel", d.hot.kernel(9, parameter, d.hot.launchKernel, uintptr(f),
		uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2]),
		uintptr(block[0]), uintptr(block[1]), uintptr(block[2]),
		uintptr(shared), uintptr(s), 0, 0))
}

func (d *cuda) GraphLaunch(x driver.GraphExec, s driver.Stream) error {
	if d.hot.graphLaunch == 0 {
		return missing("cuGraphLaunch")
	}
	return check("cuGraphLaunch", d.hot.call(d.hot.graphLaunch, uintptr(x), uintptr(s)))
}

// done is check for queries, where "not ready" is an answer.
func done(call string, r driver.Result) (bool, error) {
	if r == driver.NotReady {
		return false, nil
	}
	err := check(call, r)
	return err == nil, err
}
