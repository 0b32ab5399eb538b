//go:build !nogpu

package libcuda

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"prismtop/gpu/driver"
)

func TestDevices(t *testing.T) {
	m := open(t, build(t))
	if _, err := m.DeviceCount(); driver.As(err) != driver.NotInitialized {
		t.Errorf("DeviceCount before Init: %v", err)
	}
	must(t, m.Init())
	m.calls()
	if !strings.HasSuffix(m.Name(), "libcuda.so.1") {
		t.Errorf("Name = %q", m.Name())
	}
	if v := result(m.Version())(t); v != 12040 {
		t.Errorf("Version = %d", v)
	}
	if n := result(m.DeviceCount())(t); n != 1 {
		t.Errorf("DeviceCount = %d", n)
	}
	d := result(m.DeviceGet(0))(t)
	if d != 40 {
		t.Errorf("DeviceGet = %d", d)
	}
	if _, err := m.DeviceGet(1); driver.As(err) != 101 {
		t.Errorf("DeviceGet(1): %v", err)
	}
	if name := result(m.DeviceName(d))(t); name != "Test Device" {
		t.Errorf("DeviceName = %q", name)
	}
	if u := result(m.DeviceUUID(d))(t); u[0] != 0 || u[15] != 15 {
		t.Errorf("DeviceUUID = %x", u)
	}
	if n := result(m.DeviceTotalMem(d))(t); n != 5<<32 {
		t.Errorf("DeviceTotalMem = %d", n)
	}
	if n := result(m.DeviceAttribute(driver.MultiprocessorCount, d))(t); n != 1016 {
		t.Errorf("DeviceAttribute = %d", n)
	}
	c := result(m.PrimaryContextRetain(d))(t)
	must(t, m.PrimaryContextRelease(d))
	if err := m.ContextSetCurrent(c + 1); driver.As(err) != driver.InvalidContext {
		t.Errorf("ContextSetCurrent of no context: %v", err)
	}
	want(t, m, "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet 0", "cuDeviceGet 1", "cuDeviceGetName 255 40", "cuDeviceGetUuid_v2 40",
		"cuDeviceTotalMem_v2 40", "cuDeviceGetAttribute 16 40", "cuDevicePrimaryCtxRetain 40", "cuDevicePrimaryCtxRelease_v2 40", "cuCtxSetCurrent 0")
}

// want compares the calls since the last time.
func want(t *testing.T, m mock, calls ...string) {
	t.Helper()
	if got := m.calls(); !slices.Equal(got, calls) {
		t.Errorf("calls:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(calls, "\n\t"))
	}
}

func TestMemory(t *testing.T) {
	m := open(t, build(t))
	m.ready(t)
	s := result(m.StreamCreate())(t)
	p, q := result(m.MemAlloc(16))(t), result(m.MemAlloc(16))(t)
	free, total, err := m.MemGetInfo()
	if err != nil || free != 5<<32-32 || total != 5<<32 {
		t.Errorf("MemGetInfo = %d, %d, %v", free, total, err)
	}
	pinned := result(m.MemHostAlloc(16))(t)
	if len(pinned) != 16 {
		t.Errorf("MemHostAlloc(16) has %d bytes", len(pinned))
	}
	if address := result(m.MemHostDevicePointer(pinned))(t); address == 0 || address == p {
		t.Errorf("MemHostDevicePointer = %x", address)
	}
	source := []byte("0123456789abcdef")
	must(t, m.MemcpyHtoD(p, source))
	must(t, m.MemsetD8Async(p+4, '-', 4, s))
	must(t, m.MemcpyDtoDAsync(q+1, p, 12, s))
	must(t, m.MemcpyDtoHAsync(pinned[2:15], q, s))
	want(t, m, "cuStreamCreate 1", "cuMemAlloc_v2 16", "cuMemAlloc_v2 16", "cuMemGetInfo_v2", "cuMemHostAlloc 16 2",
		"cuMemHostGetDevicePointer_v2 pinned 0", "cuMemcpyHtoD_v2 16", "cuMemsetD8Async 45 4 s1", "cuMemcpyDtoDAsync_v2 12 s1", "cuMemcpyDtoHAsync_v2 pinned 13 s1")
	if string(pinned) != "\x00\x00\x000123----89ab\x00" {
		t.Errorf("copied %q", pinned)
	}
	copy(pinned, "xyz")
	must(t, m.MemcpyHtoDAsync(p, pinned[:3], s))
	got := make([]byte, 5)
	must(t, m.MemcpyDtoH(got, p))
	if string(got) != "xyz3-" {
		t.Errorf("copied %q", got)
	}
	if err := m.MemcpyHtoD(p+8, source); driver.As(err) != driver.InvalidValue {
		t.Errorf("a copy past the end: %v", err)
	}
	_, err = m.MemAlloc(6 << 32)
	if driver.As(err) != driver.OutOfMemory || !strings.HasSuffix(err.Error(), "cuMemAlloc: out of memory (2): 25769803776 bytes asked for") {
		t.Errorf("MemAlloc of too much: %v", err)
	}
	if err := m.MemHostFree(pinned[1:]); driver.As(err) != driver.InvalidValue {
		t.Errorf("MemHostFree of the middle: %v", err)
	}
	must(t, m.MemHostFree(pinned))
	must(t, m.MemFree(p))
	must(t, m.MemFree(q))
	if m.live() != 0 {
		t.Errorf("%d blocks are not freed", m.live())
	}
}

func TestModules(t *testing.T) {
	m := open(t, build(t))
	m.ready(t)
	_, err := m.ModuleLoadData([]byte(".target sm_75\x00"))
	if text := fmt.Sprint(err); driver.As(err) != driver.InvalidPTX || !strings.HasSuffix(text, "(218): line 1: no .version") {
		t.Errorf("PTX without a version: %v", err)
	}
	if _, err = m.ModuleLoadData([]byte(".version 99.0\x00")); driver.As(err).Class() != driver.TooOld {
		t.Errorf("PTX of tomorrow: %v", err)
	}
	m.calls()
	if _, err = m.ModuleLoadData([]byte(".version 7.0")); driver.As(err) != driver.InvalidValue || m.calls()[0] != "" {
		t.Errorf("PTX without a NUL byte: %v", err)
	}
	module := result(m.ModuleLoadData([]byte(ptx)))(t)
	if _, err = m.ModuleGetFunction(module, "fil"); driver.As(err) != driver.NotFound || !strings.HasSuffix(err.Error(), ": fil") {
		t.Errorf("a function that is not there: %v", err)
	}
	f := result(m.ModuleGetFunction(module, "fill"))(t)
	must(t, m.FunctionSetAttribute(f, driver.FunctionMaxDynamicShared, 98304))
	if n := result(m.FunctionAttribute(driver.FunctionMaxDynamicShared, f))(t); n != 98304 {
		t.Errorf("dynamic shared memory = %d", n)
	}
	if n := result(m.FunctionAttribute(driver.FunctionRegisters, f))(t); n != 14 {
		t.Errorf("registers = %d", n)
	}
	if n := result(m.OccupancyBlocks(f, 256, 4096))(t); n != 8 {
		t.Errorf("OccupancyBlocks = %d", n)
	}
	must(t, m.ModuleUnload(module))
	if err := m.ModuleUnload(module); driver.As(err) != 400 {
		t.Errorf("ModuleUnload twice: %v", err)
	}
	want(t, m, fmt.Sprintf("cuModuleLoadDataEx %d 2 5 6 16384", len(ptx)-1), "cuModuleGetFunction fil", "cuModuleGetFunction fill", "cuFuncSetAttribute 8 98304",
		"cuFuncGetAttribute 8", "cuFuncGetAttribute 4", "cuOccupancyMaxActiveBlocksPerMultiprocessor 256 4096", "cuModuleUnload", "cuModuleUnload")
}

func TestStreamsAndEvents(t *testing.T) {
	m := open(t, build(t))
	m.ready(t)
	s := result(m.StreamCreate())(t)
	a, b, o := result(m.EventCreate(true))(t), result(m.EventCreate(true))(t), result(m.EventCreate(false))(t)
	must(t, m.EventRecord(a, s))
	must(t, m.EventRecord(b, s))
	must(t, m.StreamWaitEvent(s, a))
	for _, want := range []bool{false, true} {
		if done := result(m.EventQuery(a))(t); done != want {
			t.Errorf("EventQuery = %v, want %v", done, want)
		}
		if done := result(m.StreamQuery(s))(t); done != want {
			t.Errorf("StreamQuery = %v, want %v", done, want)
		}
	}
	must(t, m.EventSynchronize(b))
	must(t, m.StreamSynchronize(s))
	must(t, m.ContextSynchronize())
	if ms := result(m.EventElapsed(a, b))(t); ms != 0.5 {
		t.Errorf("EventElapsed = %v", ms)
	}
	if _, err := m.EventElapsed(a, o); driver.As(err) != 400 {
		t.Errorf("EventElapsed of an event without time: %v", err)
	}
	if err := m.EventRecordExternal(a, s); driver.As(err) != 401 {
		t.Errorf("EventRecordExternal outside of a capture: %v", err)
	}
	must(t, m.EventDestroy(a))
	must(t, m.StreamDestroy(s))
	if done, err := m.EventQuery(a); done || driver.As(err) != 400 {
		t.Errorf("EventQuery after EventDestroy = %v, %v", done, err)
	}
	want(t, m, "cuStreamCreate 1", "cuEventCreate 0", "cuEventCreate 0", "cuEventCreate 2", "cuEventRecord e2 s1", "cuEventRecord e3 s1", "cuStreamWaitEvent s1 e2 0",
		"cuEventQuery e2", "cuStreamQuery s1", "cuEventQuery e2", "cuStreamQuery s1", "cuEventSynchronize e3", "cuStreamSynchronize s1", "cuCtxSynchronize",
		"cuEventElapsedTime_v2 e2 e3", "cuEventElapsedTime_v2 e2 e4", "cuEventRecordWithFlags e2 s1 1", "cuEventDestroy_v2 e2", "cuStreamDestroy_v2 s1", "cuEventQuery e2")
}

func TestLaunchPassesTheParameter(t *testing.T) {
	m := open(t, build(t))
	m.ready(t)
	f := m.fill(t)
	parameter := []byte("\x01\x02\x03\x04\x05\x06\x07\x08\x00\xff\x11\x12\x13\x14\x15\x16")
	must(t, m.LaunchKernel(f, driver.XYZ(70000, 2, 3), driver.XYZ(4, 5, 6), 98304, 0, parameter))
	must(t, m.LaunchKernel(f, driver.X(1), driver.XY(32, 8), 0, 0, parameter))
	want(t, m, "cuLaunchKernel fill 70000,2,3 4,5,6 98304 s0 010203040506070800ff111213141516", "cuLaunchKernel fill 1,1,1 32,8,1 0 s0 010203040506070800ff111213141516")
	if err := m.LaunchKernel(f, driver.X(1), driver.X(1), 0, 0, nil); driver.As(err) != driver.InvalidValue {
		t.Errorf("a launch without a parameter: %v", err)
	}
}

func TestGraphs(t *testing.T) {
	m := open(t, build(t))
	m.ready(t)
	f := m.fill(t)
	s, e, parameter := result(m.StreamCreate())(t), result(m.EventCreate(true))(t), make([]byte, 16)
	must(t, m.StreamBeginCapture(s))
	must(t, m.LaunchKernel(f, driver.X(1), driver.X(32), 0, s, parameter))
	must(t, m.EventRecordExternal(e, s))
	err := m.StreamSynchronize(s)
	if driver.As(err).Class() != driver.Capture {
		t.Errorf("StreamSynchronize during a capture: %v", err)
	}
	g := result(m.StreamEndCapture(s))(t)
	x := result(m.GraphInstantiate(g))(t)
	must(t, m.GraphDestroy(g))
	must(t, m.GraphUpload(x, s))
	must(t, m.GraphLaunch(x, s))
	must(t, m.GraphExecDestroy(x))
	if err := m.GraphLaunch(x, s); driver.As(err) != 400 {
		t.Errorf("GraphLaunch after GraphExecDestroy: %v", err)
	}
	if _, err := m.StreamEndCapture(s); driver.As(err) != 401 {
		t.Errorf("StreamEndCapture without a capture: %v", err)
	}
	want(t, m, "cuStreamCreate 1", "cuEventCreate 0", "cuStreamBeginCapture_v2 s1 1", "cuLaunchKernel fill 1,1,1 32,1,1 0 s1 "+strings.Repeat("00", 16),
		"cuEventRecordWithFlags e2 s1 1", "cuStreamSynchronize s1", "cuStreamEndCapture s1", "cuGraphInstantiateWithFlags g3 0", "cuGraphDestroy g3",
		"cuGraphUpload x4 s1", "cuGraphLaunch x4 s1 nodes=2", "cuGraphExecDestroy x4", "cuGraphLaunch x4 s1 nodes=-1", "cuStreamEndCapture s1")
}

func TestContextBelongsToItsThread(t *testing.T) {
	m := open(t, build(t))
	m.ready(t)
	must(t, m.ContextSynchronize())
	var wait sync.WaitGroup
	wait.Go(func() { // the test's goroutine keeps its thread
		if err := m.ContextSynchronize(); driver.As(err) != driver.InvalidContext {
			t.Errorf("on a thread without the context: %v", err)
		}
	})
	wait.Wait()
	must(t, m.ContextSetCurrent(0))
	if err := m.ContextSynchronize(); driver.As(err) != driver.InvalidContext {
		t.Errorf("without a current context: %v", err)
	}
}

// Every failure is an error that names the call and the result, and has the class that decides what the run does.
func TestFailures(t *testing.T) {
	if path := os.Getenv("LIBCUDA_TEST_PATH"); path != "" {
		fmt.Printf("failure: %v\n", work(t, open(t, path)))
		return
	}
	path := build(t)
	for _, test := range []struct {
		fail, want string
		class      driver.Class
	}{
		{"cuInit=100", "cuInit: the driver finds no device (100)", driver.Absent},
		{"cuInit=803", "cuInit: the driver library and the kernel module have different versions: reboot or reload the module (803)", driver.TooOld},
		{"cuModuleLoadDataEx=222", "cuModuleLoadDataEx: the driver is too old for the PTX (222)", driver.TooOld},
		{"cuMemAlloc_v2=2", "cuMemAlloc: out of memory (2): 64 bytes asked for", driver.Memory},
		{"cuLaunchKernel=700", "cuLaunchKernel: a kernel accessed memory that it must not (700)", driver.Sticky},
		{"cuStreamEndCapture=900", "cuStreamEndCapture: the operation cannot be captured (900)", driver.Capture},
		{"cuStreamQuery=999,cuGraphLaunch=719", "cuGraphLaunch: a kernel failed (719)", driver.Sticky},
		{"", "<nil>", driver.Other},
	} {
		t.Run(test.fail, func(t *testing.T) {
			// The variable is the library's: without cgo, os.Setenv does not reach it in this process.
			again := exec.Command(os.Args[0], "-test.run=^TestFailures$", "-test.v")
			again.Env = append(os.Environ(), "LIBCUDA_TEST_PATH="+path, "CUDA_MOCK_FAIL="+test.fail)
			out, err := again.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "failure: "+test.want+"\n") {
				t.Errorf("%v, want failure: %s\n%s", err, test.want, out)
			}
			m := open(t, path)
			m.fail(test.fail)
			if err := work(t, m); driver.As(err).Class() != test.class || fmt.Sprint(err) != test.want {
				t.Errorf("%v, want %s of class %d", err, test.want, test.class)
			}
		})
	}
}

// work does a little of everything, up to the first error.
func work(t *testing.T, m mock) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := m.Init(); err != nil {
		return err
	}
	d, err := m.DeviceGet(0)
	must(t, err)
	must(t, m.ContextSetCurrent(result(m.PrimaryContextRetain(d))(t)))
	module, err := m.ModuleLoadData([]byte(ptx))
	if err != nil {
		return err
	}
	f := result(m.ModuleGetFunction(module, "fill"))(t)
	if _, err := m.MemAlloc(64); err != nil {
		return err
	}
	s := result(m.StreamCreate())(t)
	must(t, m.StreamBeginCapture(s))
	if err := m.LaunchKernel(f, driver.X(1), driver.X(1), 0, s, make([]byte, 16)); err != nil {
		return afterwards(t, m, err)
	}
	g, err := m.StreamEndCapture(s)
	if err != nil {
		return err
	}
	if err := m.GraphLaunch(result(m.GraphInstantiate(g))(t), s); err != nil {
		return afterwards(t, m, err)
	}
	return nil
}

// afterwards checks that a sticky failure stays.
func afterwards(t *testing.T, m mock, err error) error {
	if later := m.ContextSynchronize(); driver.As(later) != driver.As(err) {
		t.Errorf("after %v: %v", err, later)
	}
	return err
}

func TestMissingFunctions(t *testing.T) {
	for _, symbol := range []string{"cuLaunchKernel", "cuMemAlloc_v2", "cuEventElapsedTime_v2 cuEventElapsedTime"} {
		names := strings.Fields(symbol)
		_, err := OpenFrom(build(t, names...))
		if last := names[len(names)-1]; err == nil || !strings.HasSuffix(err.Error(), "libcuda.so.1 has no "+last) {
			t.Errorf("without %s: %v", symbol, err)
		}
	}
	m := open(t, build(t, "cuDeviceGetUuid_v2", "cuEventElapsedTime_v2", "cuEventRecordWithFlags", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
		"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphDestroy", "cuGraphInstantiateWithFlags", "cuGraphUpload", "cuGraphLaunch", "cuGraphExecDestroy"))
	m.ready(t)
	if u := result(m.DeviceUUID(40))(t); u[3] != 7 {
		t.Errorf("DeviceUUID by the first version = %x", u)
	}
	a := result(m.EventCreate(true))(t)
	must(t, m.EventRecord(a, 0))
	if ms := result(m.EventElapsed(a, a))(t); ms != 0 {
		t.Errorf("EventElapsed by the first version = %v", ms)
	}
	_, occupancy := m.OccupancyBlocks(1, 1, 0)
	_, end := m.StreamEndCapture(1)
	_, instantiate := m.GraphInstantiate(1)
	for name, err := range map[string]error{
		"cuOccupancyMaxActiveBlocksPerMultiprocessor": occupancy, "cuStreamEndCapture": end, "cuGraphInstantiateWithFlags": instantiate,
		"cuEventRecordWithFlags": m.EventRecordExternal(a, 0), "cuStreamBeginCapture": m.StreamBeginCapture(1), "cuGraphDestroy": m.GraphDestroy(1),
		"cuGraphUpload": m.GraphUpload(1, 1), "cuGraphLaunch": m.GraphLaunch(1, 1), "cuGraphExecDestroy": m.GraphExecDestroy(1),
	} {
		if !errors.Is(err, driver.ErrMissing) || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := open(t, build(t, "cuDeviceGetUuid_v2", "cuDeviceGetUuid")).DeviceUUID(40); !errors.Is(err, driver.ErrMissing) {
		t.Errorf("DeviceUUID: %v", err)
	}
}

// Launches from several threads at once each pass their own parameter.
func TestLaunchesAtOnce(t *testing.T) {
	m := open(t, build(t))
	m.ready(t)
	f := m.fill(t)
	c := result(m.PrimaryContextRetain(40))(t)
	m.calls()
	var expected []string
	var wait sync.WaitGroup
	for thread := range 4 {
		for i := range 50 {
			expected = append(expected, fmt.Sprintf("cuLaunchKernel fill 1,1,1 %d,1,1 0 s0 %02x", thread+1, i)+strings.Repeat(fmt.Sprintf("%02x", thread+1), 15))
		}
		wait.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if err := m.ContextSetCurrent(c); err != nil {
				t.Error(err)
				return
			}
			parameter := bytes.Repeat([]byte{byte(thread + 1)}, 16)
			for i := range 50 {
				parameter[0] = byte(i)
				if err := m.LaunchKernel(f, driver.X(1), driver.X(thread+1), 0, 0, parameter); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	got := slices.DeleteFunc(m.calls(), func(call string) bool { return strings.HasPrefix(call, "cuCtxSetCurrent") })
	slices.Sort(got)
	slices.Sort(expected)
	if !slices.Equal(got, expected) {
		t.Errorf("%d launches, want %d:\n%s", len(got), len(expected), strings.Join(got, "\n"))
	}
}

// Page-locked memory is the driver's: the collector leaves it alone.
func TestHostMemoryOutlivesTheCollector(t *testing.T) {
	m := open(t, build(t))
	m.ready(t)
	memory := result(m.MemHostAlloc(1 << 16))(t)
	for i := 0; i < len(memory); i += 8 {
		binary.NativeEndian.PutUint64(memory[i:], uint64(i))
	}
	runtime.GC()
	runtime.GC()
	for i := 0; i < len(memory); i += 8 {
		if got := binary.NativeEndian.Uint64(memory[i:]); got != uint64(i) {
			t.Fatalf("at %d: %d", i, got)
		}
	}
	must(t, m.MemHostFree(memory))
}
