package cuda_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"prismtop/gpu/cuda"
	"prismtop/gpu/driver"
	"prismtop/gpu/emulator"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// faulty returns a backend on an emulated device, whose driver takes faults later.
func faulty(t *testing.T, o emulator.Options) (*cuda.Backend, *emulator.Driver) {
	t.Helper()
	d := emulator.New(o)
	b, err := cuda.Open(d, cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, d
}

// scaling is a plan that doubles a variable.
func scaling(n int) (*nn.Plan, []nn.Variable) {
	s := tensor.Shape{n}
	return handmade([]nn.Buffer{{Name: "x", Shape: s, Variable: 0}, {Name: "y", Shape: s, Variable: -1}}, step(nn.Scale{Factor: 2}, 1, 0)),
		[]nn.Variable{{Name: "x", Shape: s}}
}

// loaded returns a state and an executable of the plan.
func loaded(t *testing.T, b *cuda.Backend, p *nn.Plan, variables []nn.Variable) (nn.State, nn.Executable) {
	t.Helper()
	state, err := b.NewState(t.Context(), variables)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(state.Close)
	x, err := b.Load(t.Context(), p, state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return state, x
}

// A call that returns no error keeps it for the next that does, even if the context could not be made current.
func TestErrorsOfMethodsWithoutOne(t *testing.T) {
	values := make([]float32, 8)
	for _, tt := range []struct {
		name string
		call func(nn.State, nn.Executable)
	}{
		{"reading a variable", func(s nn.State, _ nn.Executable) { s.Read(0, values) }},
		{"writing a variable", func(s nn.State, _ nn.Executable) { s.Write(0, values) }},
		{"reading a buffer", func(_ nn.State, x nn.Executable) { x.Read(1, values) }},
		{"writing a buffer", func(_ nn.State, x nn.Executable) { x.Write(1, values) }},
		{"times", func(_ nn.State, x nn.Executable) { x.StepNanos() }},
		{"closing an executable", func(_ nn.State, x nn.Executable) { x.Close() }},
		{"closing a state", func(s nn.State, _ nn.Executable) { s.Close() }},
	} {
		b, d := faulty(t, emulator.Options{})
		p, variables := scaling(8)
		state, x := loaded(t, b, p, variables)
		d.Inject(emulator.Fault{Call: "cuCtxSetCurrent", N: 1, Result: driver.InvalidValue})
		tt.call(state, x)
		if err := b.Failure(); driver.As(err) != driver.InvalidValue {
			t.Errorf("%s: the backend reports %v", tt.name, err)
		}
	}
}

// The driver's own lack of memory is reported as that of an allocation.
func TestLackOfMemoryAnywhere(t *testing.T) {
	p, variables := scaling(8)
	for _, call := range []string{"cuMemHostAlloc", "cuGraphInstantiate", "cuGraphLaunch", "cuLaunchKernel"} {
		b, d := faulty(t, emulator.Options{})
		d.Inject(emulator.Fault{Call: call, Result: driver.OutOfMemory})
		state, err := b.NewState(t.Context(), variables)
		if err != nil {
			t.Fatal(err)
		}
		state.Write(0, make([]float32, 8))
		err = b.Failure()
		if err == nil {
			var x nn.Executable
			if x, err = b.Load(t.Context(), p, state); err == nil {
				err = x.Run(t.Context(), nn.SegmentForward)
				x.Close()
			}
		}
		var short *cuda.MemoryError
		if !errors.As(err, &short) || short.Asked != 0 || short.Free <= 0 || strings.Contains(err.Error(), "asked for") || driver.As(err) != driver.OutOfMemory {
			t.Errorf("%s: %v: %+v", call, err, short)
		}
		state.Close()
	}
	d := emulator.New(emulator.Options{Faults: []emulator.Fault{{Call: "cuModuleLoadData", Result: driver.OutOfMemory}}})
	_, err := cuda.Open(d, cuda.Options{})
	if !nn.Short(err) {
		t.Errorf("compiling: %v", err)
	}
}

// A driver without graphs is noted once; another error of the capture is one of Load.
func TestOnlyADriverWithoutGraphsIsEager(t *testing.T) {
	p, variables := scaling(8)
	for _, result := range []driver.Result{driver.CaptureUnsupported, driver.NotSupported} {
		b, _ := faulty(t, emulator.Options{Faults: []emulator.Fault{{Call: "cuStreamBeginCapture", Result: result}}})
		state, x := loaded(t, b, p, variables)
		if _, err := b.Load(t.Context(), p, state); err != nil {
			t.Fatal(err)
		}
		if err := x.Run(t.Context(), nn.SegmentForward); err != nil {
			t.Errorf("result %d: %v", result, err)
		}
		if len(b.Notes) != 1 {
			t.Errorf("result %d: notes %q", result, b.Notes)
		}
	}
	for _, call := range []string{"cuStreamBeginCapture", "cuGraphInstantiate", "cuGraphUpload"} {
		b, _ := faulty(t, emulator.Options{Faults: []emulator.Fault{{Call: call, Result: driver.InvalidValue}}})
		state, err := b.NewState(t.Context(), variables)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Load(t.Context(), p, state); driver.As(err) != driver.InvalidValue || len(b.Notes) > 0 {
			t.Errorf("%s: error %v, notes %q", call, err, b.Notes)
		}
		state.Close()
	}
}

// After a slot of the staging memory could not be prepared, copies begin anew.
func TestASlotWithoutAnEventIsFreed(t *testing.T) {
	b, d := faulty(t, emulator.Options{})
	state, err := b.NewState(t.Context(), []nn.Variable{{Name: "x", Shape: tensor.Shape{8}}})
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	d.Inject(emulator.Fault{Call: "cuEventCreate", N: 1, Result: driver.InvalidValue})
	want, got := []float32{1, 2, 3, 4, 5, 6, 7, 8}, make([]float32, 8)
	state.Write(0, want)
	if err := b.Failure(); driver.As(err) != driver.InvalidValue || b.DeviceMemory().Pinned != 0 {
		t.Fatalf("error %v, %d bytes pinned", err, b.DeviceMemory().Pinned)
	}
	for range 4 { // comes to the same slot
		state.Write(0, want)
	}
	state.Read(0, got)
	if err := b.Failure(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// Slots with copies that a failed download left in flight are not reused before these have ended.
func TestAFailedDownloadKeepsItsSlots(t *testing.T) {
	const n = 3 << 18 // three slots
	b, d := faulty(t, emulator.Options{Deferred: true})
	state, err := b.NewState(t.Context(), []nn.Variable{{Name: "x", Shape: tensor.Shape{n}}})
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	values, got := make([]float32, n), make([]float32, n)
	d.Inject(emulator.Fault{Call: "cuMemcpyDtoHAsync", N: 3, Result: driver.InvalidValue})
	state.Read(0, got)
	if err := b.Failure(); driver.As(err) != driver.InvalidValue {
		t.Fatal(err)
	}
	for i := range values {
		values[i] = float32(i + 1)
	}
	state.Write(0, values)
	state.Read(0, got)
	if err := b.Failure(); err != nil || !slices.Equal(got, values) {
		i := slices.IndexFunc(got, func(v float32) bool { return v == 0 })
		t.Errorf("error %v, the first 0 at %d", err, i)
	}
}

// Memory is freed even if it cannot be measured.
func TestClosingWithoutTheDevicesMemory(t *testing.T) {
	p, variables := scaling(8)
	b, d := faulty(t, emulator.Options{})
	state, x := loaded(t, b, p, variables)
	x.Close()
	if y, err := b.LoadBeside(t.Context(), p, state, x); err == nil {
		t.Errorf("a closed executable is loaded beside: %v", y)
	}
	d.Inject(emulator.Fault{Call: "cuMemGetInfo", N: 1, Result: driver.InvalidValue})
	state.Close()
	if err := b.Failure(); driver.As(err) != driver.InvalidValue {
		t.Errorf("the backend reports %v", err)
	}
	if left := b.DeviceMemory().Allocated; left != 0 {
		t.Errorf("%d bytes are still allocated", left)
	}
}

// shared is the driver of a device on which another program frees memory.
type shared struct {
	driver.Driver
	freed, each int64
}

func (d *shared) MemGetInfo() (free, total int64, err error) {
	free, total, err = d.Driver.MemGetInfo()
	d.freed += d.each
	return free + d.freed, total, err
}

// What another program frees while a plan is loaded is not counted against the driver's own memory.
func TestMemoryThatOthersFree(t *testing.T) {
	const context = 1000
	reads := int64(0)
	outside := func(string) (int64, bool) { reads++; return 1<<30 - reads*context, true }
	d := &shared{Driver: emulator.New(emulator.Options{Devices: []emulator.DeviceOptions{{Memory: 64 << 20}}})}
	b, err := cuda.Open(d, cuda.Options{Free: outside})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	before := b.DeviceMemory().Context
	if before < context {
		t.Fatalf("the context has %d bytes", before)
	}
	d.each = 4 << 20
	p, variables := scaling(8)
	loaded(t, b, p, variables)
	if after := b.DeviceMemory().Context; after < before {
		t.Errorf("loading a plan makes the context smaller: %d bytes, %d before", after, before)
	}
}

// A lost device is named with what it was doing, and every later error is that one.
func TestALostDevice(t *testing.T) {
	b, d := faulty(t, emulator.Options{})
	p, variables := scaling(8)
	_, x := loaded(t, b, p, variables)
	d.Inject(emulator.Fault{Call: "cuGraphLaunch", N: 1, Result: 709})
	err := x.Run(t.Context(), nn.SegmentForward)
	if want := "Emulated GPU failed during a segment of the plan and cannot be used by this process any more: "; err == nil || !strings.HasPrefix(err.Error(), want) || !nn.Lost(err) {
		t.Fatalf("error %v, want %q", err, want)
	}
	if again := x.Run(t.Context(), nn.SegmentForward); !errors.Is(again, err) {
		t.Errorf("then error %v", again)
	}
}

// A buffer is copied between executables of one backend, after the steps enqueued before, and not to another shape.
func TestABufferIsCopiedToAnotherExecutable(t *testing.T) {
	p, variables := scaling(8)
	longer, others := scaling(9)
	b, _ := faulty(t, emulator.Options{})
	_, x := loaded(t, b, p, variables)
	_, y := loaded(t, b, p, variables)
	_, z := loaded(t, b, longer, others)
	values, got := []float32{1, 2, 3, 4, 5, 6, 7, 8}, make([]float32, 8)
	x.Write(0, values)
	if err := x.Run(t.Context(), nn.SegmentForward); err != nil {
		t.Fatal(err)
	}
	if err := y.(nn.Copier).Copy(0, x, 1); err != nil {
		t.Fatal(err)
	}
	if err := y.Run(t.Context(), nn.SegmentForward); err != nil {
		t.Fatal(err)
	}
	if y.Read(1, got); got[7] != 32 || got[0] != 4 {
		t.Errorf("twice the copy is %v, want four times %v", got, values)
	}
	if err := z.(nn.Copier).Copy(0, x, 1); err == nil {
		t.Error("8 numbers are copied to 9")
	}
	elsewhere, _ := faulty(t, emulator.Options{})
	_, far := loaded(t, elsewhere, p, variables)
	if err := y.(nn.Copier).Copy(0, far, 1); err == nil {
		t.Error("a buffer of another backend is copied")
	}
}

// The memory in use is that of the device, without what is kept for other plans.
func TestTheMemoryInUseIsTheDevices(t *testing.T) {
	p, variables := scaling(1 << 20)
	b, _ := faulty(t, emulator.Options{})
	before, all, known := b.MemoryInUse()
	if !known || all != 1<<30 || before < 0 {
		t.Fatalf("%d of %d bytes, known: %v", before, all, known)
	}
	state, err := b.NewState(t.Context(), variables)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	x, err := b.Load(t.Context(), p, state)
	if err != nil {
		t.Fatal(err)
	}
	loaded, _, _ := b.MemoryInUse()
	x.Close()
	if kept, _, _ := b.MemoryInUse(); loaded-before < 8<<20 || loaded-kept < 4<<20 {
		t.Errorf("%d bytes before, %d with an array and its result of 4 MiB, %d when the plan is kept", before, loaded, kept)
	}
}
