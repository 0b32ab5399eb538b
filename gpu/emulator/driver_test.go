package emulator

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"prismtop/gpu/driver"
)

// expect checks the result of a call, 0 for success, and what its error says.
func expect(t *testing.T, err error, want driver.Result, says string) {
	t.Helper()
	if driver.As(err) != want || want == 0 && err != nil || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want result %d with %q", err, want, says)
	}
}

func TestDevices(t *testing.T) {
	d := New(Options{Devices: []DeviceOptions{{Name: "A", Capability: 90, Memory: 1 << 20}, {Attributes: map[driver.Attribute]int{driver.MultiprocessorCount: 7}}}, DriverVersion: 12040})
	_, err := d.DeviceCount()
	expect(t, err, driver.NotInitialized, "")
	must(t, d.Init())
	if n, err := d.DeviceCount(); n != 2 || err != nil {
		t.Errorf("%d devices, %v", n, err)
	}
	if v, err := d.Version(); v != 12040 || err != nil {
		t.Errorf("version %d, %v", v, err)
	}
	name, _ := d.DeviceName(0)
	memory, _ := d.DeviceTotalMem(0)
	major, _ := d.DeviceAttribute(driver.ComputeCapabilityMajor, 0)
	multi, _ := d.DeviceAttribute(driver.MultiprocessorCount, 1)
	if name != "A" || memory != 1<<20 || major != 9 || multi != 7 {
		t.Errorf("name %s, memory %d, capability %d, multiprocessors %d", name, memory, major, multi)
	}
	first, _ := d.DeviceUUID(0)
	if second, _ := d.DeviceUUID(1); first == second {
		t.Error("two devices have one UUID")
	}
	_, err = d.DeviceGet(2)
	expect(t, err, 101, "device 2 of 2")
	expect(t, New(Options{Devices: []DeviceOptions{}}).Init(), driver.NoDevice, "")
}

// A context is current to one thread of the operating system.
func TestContextsBelongToThreads(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("threads are told apart on Linux only")
	}
	d := open(t, Options{})
	errs := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		_, err := d.MemAlloc(16)
		errs <- err
	}()
	expect(t, <-errs, 201, "no context")
	must(t, d.ContextSetCurrent(0))
	_, err := d.MemAlloc(16)
	expect(t, err, 201, "no context")
	expect(t, d.ContextSetCurrent(12345), 201, "")
}

func TestMemory(t *testing.T) {
	d := open(t, Options{Devices: []DeviceOptions{{Memory: 1000}}, AllocLimit: 900})
	p, err := d.MemAlloc(600)
	must(t, err)
	if free, total, err := d.MemGetInfo(); free != 400 || total != 1000 || err != nil {
		t.Errorf("%d of %d bytes free, %v", free, total, err)
	}
	_, err = d.MemAlloc(401)
	expect(t, err, driver.OutOfMemory, "401 bytes, 400 of 1000 are free")
	_, err = d.MemAlloc(901)
	expect(t, err, driver.OutOfMemory, "limit")
	q, err := d.MemAlloc(400)
	must(t, err)
	expect(t, d.MemcpyHtoD(p+1, make([]byte, 600)), 1, "into allocation")
	expect(t, d.MemcpyDtoH(make([]byte, 4), p+600), 1, "0 bytes after the end of allocation")
	expect(t, d.MemFree(p+1), 1, "begin")
	must(t, d.MemFree(p))
	expect(t, d.MemFree(p), 1, "freed")
	expect(t, d.MemcpyHtoD(p, make([]byte, 4)), 1, "freed allocation")
	expect(t, d.MemsetD8Async(q, 3, 401, 0), 1, "")
	must(t, d.MemsetD8Async(q, 3, 400, 0))
	if x := download[byte](t, d, q, 400); x[0] != 3 || x[399] != 3 {
		t.Errorf("memset left %d, %d", x[0], x[399])
	}
	host, err := d.MemHostAlloc(64)
	must(t, err)
	copy(host, "page-locked")
	must(t, d.MemcpyHtoDAsync(q+100, host[:11], 0))
	must(t, d.MemcpyDtoDAsync(q+200, q+100, 11, 0))
	must(t, d.MemcpyDtoHAsync(host[32:43], q+200, 0))
	must(t, d.StreamSynchronize(0))
	if string(host[32:43]) != "page-locked" {
		t.Errorf("%q came back", host[32:43])
	}
	expect(t, d.MemcpyHtoDAsync(q, make([]byte, 4), 0), 1, "page-locked")
	if a, err := d.MemHostDevicePointer(host); a == 0 || err != nil {
		t.Errorf("address %#x, %v", a, err)
	}
	if err := d.Close(); err == nil || !strings.Contains(err.Error(), "of 400 bytes") || !strings.Contains(err.Error(), "host memory") {
		t.Errorf("leaks: %v", err)
	}
	must(t, d.MemHostFree(host))
	must(t, d.MemFree(q))
	must(t, d.PrimaryContextRelease(0))
	must(t, d.Close())
}

// A kernel that reads freed or never written memory is found, also when the bytes came by a copy.
func TestKernelsOnBadMemory(t *testing.T) {
	for _, name := range []string{"freed", "copied", "partly written"} {
		t.Run(name, func(t *testing.T) {
			d := open(t, Options{Checks: checked})
			f := kernel(t, d, loadFile(t, d, "basic_sm75.ptx"), "saxpy")
			x, y := upload(t, d, make([]float32, 8)), upload(t, d, make([]float32, 8))
			want, says := driver.Result(719), "never written"
			switch name {
			case "freed":
				want, says = driver.IllegalAddress, "0 bytes into the freed allocation"
				must(t, d.MemFree(x))
			case "copied":
				must(t, d.MemcpyDtoDAsync(x, blank[float32](t, d, 8), 32, 0))
			default:
				x = blank[float32](t, d, 8)
				must(t, d.MemcpyHtoD(x, make([]byte, 30)))
			}
			must(t, d.LaunchKernel(f, driver.X(1), driver.X(32), 0, 0, pack(t, x, y, int32(8), float32(1))))
			expect(t, d.StreamSynchronize(0), want, says)
			_, err := d.MemAlloc(8)
			expect(t, err, want, "kernel saxpy")
		})
	}
}

func TestModules(t *testing.T) {
	text, err := os.ReadFile("testdata/faults_sm80.ptx")
	must(t, err)
	text = append(text, 0)
	old := open(t, Options{Devices: []DeviceOptions{{Capability: 75}}})
	_, err = old.ModuleLoadData(text)
	expect(t, err, 209, "sm_80")
	_, err = open(t, Options{ISA: 65}).ModuleLoadData(text)
	expect(t, err, driver.UnsupportedPTX, "up to 6.5")
	d := open(t, Options{Devices: []DeviceOptions{{Capability: 90}}})
	_, err = d.ModuleLoadData(text[:len(text)-1])
	expect(t, err, 1, "NUL")
	_, err = d.ModuleLoadData([]byte(".version 7.0\n.target sm_80\n.visible .entry k()\n{\n\tfoo.bar %r1;\n}\n\x00"))
	expect(t, err, driver.InvalidPTX, "line 5")
	m, err := d.ModuleLoadData(text)
	must(t, err)
	_, err = d.ModuleGetFunction(m, "absent")
	expect(t, err, 500, "absent")
	f := kernel(t, d, m, "sharedOverrun")
	if n, err := d.FunctionAttribute(driver.FunctionSharedBytes, f); n != 512 || err != nil {
		t.Errorf("%d bytes of shared memory, %v", n, err)
	}
	if n, err := d.FunctionAttribute(driver.FunctionMaxThreads, f); n != 1024 || err != nil {
		t.Errorf("%d threads, %v", n, err)
	}
	expect(t, d.LaunchKernel(f, driver.X(1), driver.X(64), 60000, 0, make([]byte, 24)), 1, "dynamic shared memory")
	must(t, d.FunctionSetAttribute(f, driver.FunctionMaxDynamicShared, 100000))
	expect(t, d.FunctionSetAttribute(f, driver.FunctionMaxDynamicShared, 300000), 1, "")
	expect(t, d.LaunchKernel(f, driver.X(1), driver.X(2000), 0, 0, make([]byte, 24)), 701, "2000")
	expect(t, d.LaunchKernel(f, driver.X(1), driver.X(64), 0, 0, make([]byte, 16)), 1, "takes 24 bytes")
	expect(t, d.LaunchKernel(f, driver.X(0), driver.X(64), 0, 0, make([]byte, 24)), 1, "grid")
	if n, err := d.OccupancyBlocks(f, 256, 0); n != 8 || err != nil {
		t.Errorf("%d blocks of 256 threads fit, %v", n, err)
	}
	if n, err := d.OccupancyBlocks(f, 64, 100<<10); n != 2 || err != nil {
		t.Errorf("%d blocks with 100 KiB of shared memory fit, %v", n, err)
	}
	must(t, d.ModuleUnload(m))
	expect(t, d.LaunchKernel(f, driver.X(1), driver.X(64), 0, 0, make([]byte, 24)), 400, "handle")
}

// saxpyOn is a kernel with its operands: y = 2·x + y of ones.
type saxpyOn struct {
	d      *Driver
	f      driver.Function
	x, y   driver.Pointer
	stream driver.Stream
}

func newSaxpy(t *testing.T, o Options) *saxpyOn {
	t.Helper()
	d := open(t, o)
	s := &saxpyOn{d: d, f: kernel(t, d, loadFile(t, d, "basic_sm80.ptx"), "saxpy")}
	s.x, s.y = upload(t, d, []float32{1, 1, 1, 1}), upload(t, d, []float32{1, 1, 1, 1})
	var err error
	s.stream, err = d.StreamCreate()
	must(t, err)
	return s
}

// launch enqueues y += a·x.
func (s *saxpyOn) launch(t *testing.T, on driver.Stream, a float32) error {
	t.Helper()
	return s.d.LaunchKernel(s.f, driver.X(1), driver.X(32), 0, on, pack(t, s.x, s.y, int32(4), a))
}

func (s *saxpyOn) y0(t *testing.T) float32 { t.Helper(); return download[float32](t, s.d, s.y, 4)[0] }

func TestGraphs(t *testing.T) {
	s := newSaxpy(t, Options{Checks: checked})
	d := s.d
	done, err := d.EventCreate(false)
	must(t, err)
	must(t, d.StreamBeginCapture(s.stream))
	parameter := pack(t, s.x, s.y, int32(4), float32(2))
	must(t, d.LaunchKernel(s.f, driver.X(1), driver.X(32), 0, s.stream, parameter))
	clear(parameter) // the graph has its own copy
	must(t, d.EventRecordExternal(done, s.stream))
	must(t, s.launch(t, s.stream, 3))
	g, err := d.StreamEndCapture(s.stream)
	must(t, err)
	if y := s.y0(t); y != 1 {
		t.Errorf("the capture ran: y = %v", y)
	}
	x, err := d.GraphInstantiate(g)
	must(t, err)
	must(t, d.GraphDestroy(g))
	must(t, d.GraphUpload(x, s.stream))
	for range 3 {
		must(t, d.GraphLaunch(x, s.stream))
	}
	must(t, d.StreamSynchronize(s.stream))
	if y := s.y0(t); y != 1+3*5 {
		t.Errorf("y = %v after three launches, want 16", y)
	}
	if ok, err := d.EventQuery(done); !ok || err != nil {
		t.Errorf("the graph's event: %v, %v", ok, err)
	}
	must(t, d.GraphExecDestroy(x))
	expect(t, d.GraphLaunch(x, s.stream), 400, "")
	if n := len(d.Launches()); n != 6 {
		t.Errorf("%d launches", n)
	}
}

// Calls that the driver forbids during a capture fail and take the capture with them.
func TestForbiddenDuringCapture(t *testing.T) {
	calls := map[string]func(s *saxpyOn) error{
		"MemAlloc":           func(s *saxpyOn) error { _, err := s.d.MemAlloc(8); return err },
		"MemFree":            func(s *saxpyOn) error { return s.d.MemFree(s.x) },
		"MemHostAlloc":       func(s *saxpyOn) error { _, err := s.d.MemHostAlloc(8); return err },
		"MemcpyHtoD":         func(s *saxpyOn) error { return s.d.MemcpyHtoD(s.x, make([]byte, 4)) },
		"MemcpyDtoH":         func(s *saxpyOn) error { return s.d.MemcpyDtoH(make([]byte, 4), s.x) },
		"StreamSynchronize":  func(s *saxpyOn) error { return s.d.StreamSynchronize(s.stream) },
		"StreamQuery":        func(s *saxpyOn) error { _, err := s.d.StreamQuery(s.stream); return err },
		"ContextSynchronize": func(s *saxpyOn) error { return s.d.ContextSynchronize() },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			s := newSaxpy(t, Options{})
			must(t, s.d.StreamBeginCapture(s.stream))
			must(t, s.launch(t, s.stream, 1))
			expect(t, call(s), driver.CaptureUnsupported, "captur")
			expect(t, s.launch(t, s.stream, 1), 901, "")
			_, err := s.d.StreamEndCapture(s.stream)
			expect(t, err, 901, "")
			must(t, s.launch(t, s.stream, 1))
			must(t, s.d.StreamSynchronize(s.stream))
			if y := s.y0(t); y != 2 {
				t.Errorf("y = %v after one launch outside of the capture", y)
			}
		})
	}
}

// A capture follows events to other streams, which must come back before it ends.
func TestCaptureAcrossStreams(t *testing.T) {
	s := newSaxpy(t, Options{Checks: checked})
	d := s.d
	second, err := d.StreamCreate()
	must(t, err)
	fork, err := d.EventCreate(false)
	must(t, err)
	join, err := d.EventCreate(false)
	must(t, err)
	for _, joined := range []bool{true, false} {
		must(t, d.StreamBeginCapture(s.stream))
		must(t, d.EventRecord(fork, s.stream))
		must(t, d.StreamWaitEvent(second, fork))
		must(t, s.launch(t, second, 10))
		if joined {
			must(t, d.EventRecord(join, second))
			must(t, d.StreamWaitEvent(s.stream, join))
		}
		g, err := d.StreamEndCapture(s.stream)
		if !joined {
			expect(t, err, 904, "1 of 1")
			continue
		}
		must(t, err)
		x, err := d.GraphInstantiate(g)
		must(t, err)
		must(t, d.GraphLaunch(x, second))
		must(t, d.StreamSynchronize(second))
		if y := s.y0(t); y != 11 {
			t.Errorf("y = %v, want 11", y)
		}
	}
	_, err = d.EventQuery(fork)
	expect(t, err, 907, "capture")
	must(t, d.StreamBeginCapture(s.stream))
	other, err := d.EventCreate(false)
	must(t, err)
	must(t, d.EventRecord(other, second))
	expect(t, d.StreamWaitEvent(s.stream, other), 905, "")
	_, err = d.StreamEndCapture(s.stream)
	expect(t, err, 901, "")
	_, err = d.StreamEndCapture(s.stream)
	expect(t, err, 401, "")
	expect(t, d.StreamBeginCapture(0), driver.CaptureUnsupported, "default stream")
}

// Only the thread that began a capture may end it.
func TestCaptureEndsOnItsThread(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("threads are told apart on Linux only")
	}
	s := newSaxpy(t, Options{})
	must(t, s.d.StreamBeginCapture(s.stream))
	c, err := s.d.PrimaryContextRetain(0)
	must(t, err)
	errs := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := s.d.ContextSetCurrent(c); err != nil {
			errs <- err
			return
		}
		_, err := s.d.StreamEndCapture(s.stream)
		errs <- err
	}()
	expect(t, <-errs, 908, "another thread")
	_, err = s.d.StreamEndCapture(s.stream)
	expect(t, err, 901, "")
}

// With deferred work a program that does not wait sees old values.
func TestDeferredWork(t *testing.T) {
	s := newSaxpy(t, Options{Deferred: true})
	d := s.d
	must(t, s.launch(t, s.stream, 1))
	start, err := d.EventCreate(true)
	must(t, err)
	must(t, d.EventRecord(start, s.stream))
	if y := s.y0(t); y != 1 {
		t.Errorf("y = %v before anything waited", y)
	}
	if ok, err := d.StreamQuery(s.stream); ok || err != nil {
		t.Errorf("the stream is done: %v, %v", ok, err)
	}
	second, err := d.StreamCreate()
	must(t, err)
	must(t, d.StreamWaitEvent(second, start))
	must(t, s.launch(t, second, 5))
	end, err := d.EventCreate(true)
	must(t, err)
	must(t, d.EventRecord(end, second))
	_, err = d.EventElapsed(start, end)
	expect(t, err, 400, "not recorded")
	must(t, d.EventSynchronize(end))
	if y := s.y0(t); y != 7 {
		t.Errorf("y = %v, want 7: the second stream waits for the first", y)
	}
	if ms, err := d.EventElapsed(start, end); ms < 0 || err != nil {
		t.Errorf("%v ms, %v", ms, err)
	}
	must(t, s.launch(t, s.stream, 1))
	for done := false; !done; {
		if done, err = d.StreamQuery(s.stream); err != nil {
			t.Fatal(err)
		}
	}
	if y := s.y0(t); y != 8 {
		t.Errorf("y = %v, want 8", y)
	}
}

func TestInjectedFaults(t *testing.T) {
	s := newSaxpy(t, Options{Faults: []Fault{{Call: "cuMemFree", N: 2, Result: 999}}})
	d := s.d
	p, q := blank[byte](t, d, 8), blank[byte](t, d, 8)
	must(t, d.MemFree(p))
	expect(t, d.MemFree(q), 999, "injected")
	must(t, d.MemFree(q))
	d.Inject(Fault{Call: "cuEventCreate", Result: driver.OutOfMemory})
	for range 2 {
		_, err := d.EventCreate(true)
		expect(t, err, driver.OutOfMemory, "")
	}
	d.Inject(Fault{Kernel: "saxpy", N: 2, Result: driver.IllegalAddress})
	must(t, s.launch(t, 0, 1))
	must(t, d.ContextSynchronize())
	must(t, s.launch(t, 0, 1))
	expect(t, d.ContextSynchronize(), driver.IllegalAddress, "kernel saxpy: injected")
	expect(t, s.launch(t, 0, 1), driver.IllegalAddress, "")
	// A context that was released and retained again is whole.
	must(t, d.PrimaryContextRelease(0))
	c, err := d.PrimaryContextRetain(0)
	must(t, err)
	must(t, d.ContextSetCurrent(c))
	_, err = d.MemAlloc(8)
	must(t, err)
}
