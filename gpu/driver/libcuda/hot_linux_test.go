//go:build !nogpu

package libcuda

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"prismtop/gpu/driver"
	"prismtop/gpu/library"
)

func TestHotCallsAllocateNothing(t *testing.T) {
	m := open(t, build(t))
	m.ready(t)
	f := m.fill(t)
	c, s, e := result(m.PrimaryContextRetain(40))(t), result(m.StreamCreate())(t), result(m.EventCreate(true))(t)
	must(t, m.StreamBeginCapture(s))
	must(t, m.EventRecord(e, s))
	x := result(m.GraphInstantiate(result(m.StreamEndCapture(s))(t)))(t)
	p, pinned, parameter := result(m.MemAlloc(64))(t), result(m.MemHostAlloc(64))(t), make([]byte, 16)
	var d driver.Driver = m // as the backend calls it
	query := func(f func() (bool, error)) func() error {
		return func() error {
			_, err := f()
			return err
		}
	}
	for name, call := range map[string]func() error{
		"ContextSetCurrent":  func() error { return d.ContextSetCurrent(c) },
		"ContextSynchronize": d.ContextSynchronize,
		"StreamSynchronize":  func() error { return d.StreamSynchronize(s) },
		"StreamQuery":        query(func() (bool, error) { return d.StreamQuery(s) }),
		"StreamWaitEvent":    func() error { return d.StreamWaitEvent(s, e) },
		"EventRecord":        func() error { return d.EventRecord(e, s) },
		"EventQuery":         query(func() (bool, error) { return d.EventQuery(e) }),
		"EventSynchronize":   func() error { return d.EventSynchronize(e) },
		"MemcpyHtoDAsync":    func() error { return d.MemcpyHtoDAsync(p, pinned, s) },
		"MemcpyDtoHAsync":    func() error { return d.MemcpyDtoHAsync(pinned, p, s) },
		"MemcpyDtoDAsync":    func() error { return d.MemcpyDtoDAsync(p, p+32, 32, s) },
		"MemsetD8Async":      func() error { return d.MemsetD8Async(p, 0, 64, s) },
		"LaunchKernel":       func() error { return d.LaunchKernel(f, driver.X(1), driver.X(1), 0, s, parameter) },
		"GraphLaunch":        func() error { return d.GraphLaunch(x, s) },
	} {
		if n := testing.AllocsPerRun(100, func() {
			if err := call(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	must(t, m.StreamBeginCapture(s))
	if n := testing.AllocsPerRun(100, func() {
		if err := d.EventRecordExternal(e, s); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("EventRecordExternal allocates %v times", n)
	}
}

// through passes addresses on as hot_linux.go must not.
//
//go:noinline
func through(fn uintptr, arguments ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, arguments...)
	return r
}

// deep calls f with about 100·depth bytes of stack in use, so that the stack of a new goroutine grows within f at some
// depths.
//
//go:noinline
func deep(depth int, f func() bool) bool {
	var frame [64]byte
	frame[depth%64]++
	ok := false
	if depth == 0 {
		ok = f()
	} else {
		ok = deep(depth-1, f)
	}
	return ok && frame[depth%64] == 1
}

// onNewStacks returns the number of depths, of 400, at which f returns false on a goroutine of its own.
func onNewStacks(t *testing.T, m mock, c driver.Context, f func() bool) int {
	wrong := 0
	for depth := range 400 {
		right := make(chan bool)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if err := m.ContextSetCurrent(c); err != nil {
				t.Error(err)
			}
			right <- deep(depth, f)
		}()
		if !<-right {
			wrong++
		}
	}
	return wrong
}

// A variable on the stack moves when the stack grows, and an address that was converted to uintptr before does not. The
// methods see to it that the driver finds the variable all the same.
func TestAddressesSurviveAGrowingStack(t *testing.T) {
	path := build(t)
	m := open(t, path)
	m.ready(t)
	l, err := library.Open(path)
	must(t, err)
	echo := l.Address("mock_echo") // returns its argument
	c, p, f := result(m.PrimaryContextRetain(40))(t), result(m.MemAlloc(16))(t), m.fill(t)

	if n := onNewStacks(t, m, c, func() bool {
		var variable [16]byte
		got := through(echo, uintptr(unsafe.Pointer(&variable)))
		return got == uintptr(unsafe.Pointer(&variable))
	}); n == 0 {
		t.Skip("no stack grew during a call: the test shows nothing here")
	} else {
		t.Logf("through a function that takes uintptr, %d of 400 addresses were stale", n)
	}

	for name, found := range map[string]func() bool{
		"MemcpyHtoDAsync": func() bool {
			var source [16]byte
			return m.MemcpyHtoDAsync(p, source[:], 0) == nil && m.seen() == uintptr(unsafe.Pointer(&source))
		},
		"MemcpyDtoHAsync": func() bool {
			var destination [16]byte
			return m.MemcpyDtoHAsync(destination[:], p, 0) == nil && m.seen() == uintptr(unsafe.Pointer(&destination))
		},
		"LaunchKernel": func() bool {
			var parameter [16]byte
			return m.LaunchKernel(f, driver.X(1), driver.X(1), 0, 0, parameter[:]) == nil && m.seen() == uintptr(unsafe.Pointer(&parameter))
		},
	} {
		if n := onNewStacks(t, m, c, found); n != 0 {
			t.Errorf("%s gave a stale address %d times of 400", name, n)
		}
	}
}
