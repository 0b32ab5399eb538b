// Package cuda runs the plans of package nn on an NVIDIA GPU, through any driver.Driver.
//
// Load places a plan's buffers in one arena on the device, lowers every step to kernel launches (package ptx has the
// kernels), and captures each segment as a CUDA graph: running a segment is one call of the driver. The host waits for
// the device only where it reads something.
package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"prismtop/gpu/driver"
	"prismtop/gpu/kernels"
	"prismtop/sim/nn"
)

// The backend: opening a device and testing it, its context, its kernels, its errors and its names.

// Options configure a backend.
type Options struct {
	// Ordinal selects the device among those that the driver lists.
	Ordinal int

	// Eager enqueues every kernel by itself instead of capturing graphs.
	Eager bool

	// Synchronous waits after every kernel, so that an error names the kernel that caused it. It implies Eager.
	Synchronous bool

	// Free reads the free memory of the device of that UUID without a context, in bytes; nil or false if it cannot. It
	// measures what the context takes.
	Free func(uuid string) (bytes int64, known bool)
}

// Backend is a CUDA device. Its methods, and those of its states and executables, may be called by one goroutine at a
// time.
type Backend struct {
	driver  driver.Driver
	options Options
	device  driver.Device
	context driver.Context
	stream  driver.Stream
	second  driver.Stream // see lanes
	copies  driver.Stream // see executable.after
	fork    driver.Event  // likewise
	joined  driver.Event
	set     kernels.Set
	name    string
	uuid    string // "GPU-…", empty if unknown
	multi   int    // multiprocessors

	// Notes are things that a user should know, such as a driver without graphs.
	Notes []string

	texts   map[string][]byte        // modules that are not loaded yet, by name
	owner   map[string]string        // module of each kernel
	modules map[string]driver.Module // loaded
	kernels map[string]*kernel

	staging staging
	kept    []*executable // the oldest first
	dropped int           // of them, so far
	counts  footprint
	dead    error // the sticky error after which every call fails
	pending error // of a method that returns none, for the next Run
	eager   bool  // Notes says that no graph could be captured

	closing sync.Once
}

// kernel is a function on the device.
type kernel struct {
	name     string
	function driver.Function
	shared   int // dynamic shared memory that it was allowed so far, bytes
}

// defaultShared is the dynamic shared memory that a kernel may use without being allowed more, in bytes.
const defaultShared = 48 << 10

// Open makes the backend of a device. The context is the device's primary one.
func Open(d driver.Driver, o Options) (*Backend, error) {
	b := &Backend{driver: d, options: o, texts: map[string][]byte{}, owner: map[string]string{},
		modules: map[string]driver.Module{}, kernels: map[string]*kernel{}}
	b.options.Eager = o.Eager || o.Synchronous
	if err := b.open(); err != nil {
		b.Close()
		return nil, fmt.Errorf("opening the GPU: %w", err)
	}
	return b, nil
}

func (b *Backend) open() error {
	d := b.driver
	if err := d.Init(); err != nil {
		return err
	}
	device, err := d.DeviceGet(b.options.Ordinal)
	if err != nil {
		return err
	}
	b.device = device
	if b.name, err = d.DeviceName(device); err != nil {
		return err
	}
	var attributes [3]int
	for i, a := range []driver.Attribute{driver.ComputeCapabilityMajor, driver.ComputeCapabilityMinor,
		driver.MultiprocessorCount} {
		if attributes[i], err = d.DeviceAttribute(a, device); err != nil {
			return err
		}
	}
	b.multi = attributes[2]
	if b.set, err = kernels.For(10*attributes[0] + attributes[1]); err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	modules, err := b.set.Modules()
	if err != nil {
		return err
	}
	for _, m := range modules {
		b.texts[m.Name] = m.Text
		for _, k := range m.Kernels() {
			b.owner[k] = m.Name
		}
	}
	if u, err := d.DeviceUUID(device); err == nil {
		b.uuid = driver.UUID(u)
	}
	before, known := b.freeOutside()
	if b.context, err = d.PrimaryContextRetain(device); err != nil {
		return err
	}
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	for _, s := range []*driver.Stream{&b.stream, &b.second, &b.copies} {
		if *s, err = d.StreamCreate(); err != nil {
			return err
		}
	}
	for _, e := range []*driver.Event{&b.fork, &b.joined} {
		if *e, err = d.EventCreate(false); err != nil {
			return err
		}
	}
	if after, still := b.freeOutside(); known && still {
		b.counts.context = before - after
	}
	return b.measured(b.selfTest)
}

// freeOutside returns the device's free memory, read without a context.
func (b *Backend) freeOutside() (bytes int64, known bool) {
	if b.options.Free == nil || b.uuid == "" {
		return 0, false
	}
	return b.options.Free(b.uuid)
}

// selfTest runs a kernel, so that a device that fails to is found before anything depends on it.
func (b *Backend) selfTest() error {
	p, err := b.allocate(256, "a test of the device")
	if err != nil {
		return err
	}
	defer b.free(p, 256)
	k, err := b.kernel("fill", 0)
	if err != nil {
		return err
	}
	const value = 1.5
	fill := fillP{Y: p, N: 64, Value: value}
	if err := b.check("fill", b.driver.LaunchKernel(k.function, driver.X(1), driver.X(256), 0, b.stream,
		parameter(&fill))); err != nil {
		return err
	}
	if err := b.synchronize(); err != nil {
		return err
	}
	got := make([]float32, 64)
	if err := b.check("a copy from the device", b.driver.MemcpyDtoH(bytesOf(got), p)); err != nil {
		return err
	}
	for _, v := range got {
		if v != value {
			return fmt.Errorf("%s computes wrong results: a kernel that writes %v left %v", b.name, value, v)
		}
	}
	return nil
}

// enter makes the device's context current to the calling goroutine, which stays on its thread until leave.
func (b *Backend) enter() error {
	if b.dead != nil {
		return b.dead
	}
	runtime.LockOSThread()
	if err := b.driver.ContextSetCurrent(b.context); err != nil {
		runtime.UnlockOSThread()
		return b.check("the context", err)
	}
	return nil
}

// leave ends enter.
func (b *Backend) leave() { runtime.UnlockOSThread() }

// check explains an error of the driver. After a sticky one the device's memory is lost, and every later call fails
// with the same error. Too little memory is a *MemoryError.
func (b *Backend) check(what string, err error) error {
	if err == nil {
		return nil
	}
	if b.dead != nil {
		return b.dead
	}
	switch driver.As(err).Class() {
	case driver.Sticky:
		b.dead = &LostError{Device: b.name, During: what, Err: err}
		return b.dead
	case driver.Memory:
		return b.short(what, 0, err)
	}
	return fmt.Errorf("%s: %s: %w", b.name, what, err)
}

// LostError reports that the device's context is lost: nothing on it can be read any more.
type LostError struct {
	Device string
	During string
	Err    error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s failed during %s and cannot be used by this process any more: %v", e.Device, e.During, e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// Lost marks the error for package nn.
func (*LostError) Lost() {}

// kernel returns a kernel that may use the given dynamic shared memory in bytes, loading its module if needed.
func (b *Backend) kernel(name string, shared int) (*kernel, error) {
	k := b.kernels[name]
	if k == nil {
		m, err := b.module(name)
		if err != nil {
			return nil, err
		}
		f, err := b.driver.ModuleGetFunction(m, name)
		if err != nil {
			return nil, b.check("kernel "+name, err)
		}
		k = &kernel{name: name, function: f, shared: defaultShared}
		b.kernels[name] = k
	}
	if shared > k.shared {
		if err := b.driver.FunctionSetAttribute(k.function, driver.FunctionMaxDynamicShared, shared); err != nil {
			return nil, b.check(fmt.Sprintf("%d bytes of shared memory for kernel %s", shared, name), err)
		}
		k.shared = shared
	}
	return k, nil
}

// module returns the module of a kernel.
func (b *Backend) module(kernel string) (driver.Module, error) {
	name, ok := b.owner[kernel]
	if !ok {
		return 0, fmt.Errorf("%s has no kernel %q", b.set.Name, kernel)
	}
	if m, ok := b.modules[name]; ok {
		return m, nil
	}
	m, err := b.driver.ModuleLoadData(b.texts[name])
	if err != nil {
		return 0, b.check("compiling the kernels of "+name, err)
	}
	b.modules[name] = m
	return m, nil
}

// Name identifies the device and its kernels: "cuda NVIDIA H100 80GB HBM3 sm_80".
func (b *Backend) Name() string { return "cuda " + b.name + " " + b.set.Name }

// Device returns "cuda".
func (b *Backend) Device() string { return "cuda" }

// Kernels returns the name of the set of PTX in use.
func (b *Backend) Kernels() string { return b.set.Name }

// Threads returns 1: the kernels run on no thread of the host.
func (b *Backend) Threads() int { return 1 }

// SetThreads does nothing.
func (b *Backend) SetThreads(int) {}

// Card returns the device's name.
func (b *Backend) Card() string { return b.name }

// synchronize waits for everything that was enqueued on the first lane.
func (b *Backend) synchronize() error {
	return b.check("the work on the device", b.driver.StreamSynchronize(b.stream))
}

// Close releases the modules, the stream and the context. A second Close does nothing.
func (b *Backend) Close() {
	b.closing.Do(func() {
		if b.context == 0 {
			return
		}
		if b.dead == nil && b.enter() == nil {
			b.forget(nil, func(*executable) bool { return true })
			b.staging.close(b)
			for _, m := range b.modules {
				_ = b.driver.ModuleUnload(m) // errors are ignored here: nothing depends on the device any more
			}
			for _, e := range []driver.Event{b.fork, b.joined} {
				if e != 0 {
					_ = b.driver.EventDestroy(e)
				}
			}
			for _, s := range []driver.Stream{b.stream, b.second, b.copies} {
				if s != 0 {
					_ = b.driver.StreamDestroy(s)
				}
			}
			_ = b.driver.ContextSetCurrent(0)
			b.leave()
		}
		_ = b.driver.PrimaryContextRelease(b.device)
		if b.dead == nil {
			b.dead = errors.New("the GPU's backend is closed")
		}
	})
}

// NewState allocates the variables on the device and sets them to their initial values. It is an error if initial
// values differ from the variable in length.
func (b *Backend) NewState(ctx context.Context, variables []nn.Variable) (nn.State, error) {
	return b.newState(ctx, variables)
}
