// Package emulator is a CUDA driver in Go for tests on machines without a GPU. It executes PTX on the host with package
// ptx, in a memory with guard gaps, and behaves like the real driver where prismtop depends on it: contexts per thread,
// streams in order, events, graph capture with its forbidden calls, errors that end a context. Options inject failures.
//
// A mistake of a kernel ends its context as on hardware, but the error says what happened: the kernel, the line of the
// PTX, the thread and the address. Not modelled: time, races between the blocks of a grid, what ptxas refuses, and
// everything else that package ptx names.
//
// The folder stands by itself: it imports the interface of package driver and the standard library, and only tests
// import it. It is no module of its own, because go test ./... in the program's folder would leave its tests out.
package emulator

import (
	"fmt"
	"sync"

	"prismtop/gpu/driver"
	"prismtop/gpu/emulator/memory"
	"prismtop/gpu/emulator/ptx"
)

// Options describes the emulated machine.
type Options struct {
	Devices       []DeviceOptions // nil means one device with the defaults
	DriverVersion int             // 1000·major + 10·minor; 0 means 13000
	// newest version of the PTX language that the driver reads, 10·major + minor; 0 means 90
	ISA        int
	Checks     ptx.Checks
	Workers    int    // goroutines that run the blocks of a grid; 0 means one per processor
	Steps      uint64 // thread instructions of a block before its kernel counts as hung; 0 means 10^10
	Deferred   bool   // streams do their work as late as the program allows, instead of at once
	Faults     []Fault
	AllocLimit int64 // allocations of more bytes fail; 0 means no limit
}

// DeviceOptions describes a device.
type DeviceOptions struct {
	Name       string // "" means "Emulated GPU"
	Capability int    // 10·major + minor; 0 means 80
	Memory     int64  // bytes; 0 means 1 GiB
	Attributes map[driver.Attribute]int
}

// Fault makes a call fail.
type Fault struct {
	Call   string // name of the driver's function, such as "cuMemAlloc"; "" for a launch of Kernel
	Kernel string // the launch that ends in Result, such as 700, and takes the context with it
	N      int    // the n-th call from now on, from 1; 0 means every call
	Result driver.Result
}

// Driver is an emulated driver. Its methods may be called from several goroutines.
type Driver struct {
	options Options
	devices []*device

	mu       sync.Mutex
	started  bool
	current  map[int]*context // by thread of the operating system
	handles  map[uintptr]any
	next     uintptr
	faults   []*Fault
	launches []Launched
	steps    uint64
	pool     ptx.Pool
	hosts    map[*byte]*memory.Allocation
}

// Launched is a kernel that ran.
type Launched struct {
	Kernel      string
	Grid, Block driver.Dim
	Shared      int
	Steps       uint64 // thread instructions
}

// device is an emulated device with its primary context.
type device struct {
	DeviceOptions
	ordinal int
	context *context
	retains int
}

var _ driver.Driver = (*Driver)(nil)

// New returns a driver of an emulated machine.
func New(o Options) *Driver {
	if o.Devices == nil {
		o.Devices = []DeviceOptions{{}}
	}
	if o.DriverVersion == 0 {
		o.DriverVersion = 13000
	}
	if o.ISA == 0 {
		o.ISA = 90
	}
	d := &Driver{options: o, current: map[int]*context{}, handles: map[uintptr]any{}, next: 0x1000,
		hosts: map[*byte]*memory.Allocation{}}
	for i, x := range o.Devices {
		if x.Name == "" {
			x.Name = "Emulated GPU"
		}
		if x.Capability == 0 {
			x.Capability = 80
		}
		if x.Memory == 0 {
			x.Memory = 1 << 30
		}
		d.devices = append(d.devices, &device{DeviceOptions: x, ordinal: i})
	}
	for _, f := range o.Faults {
		d.faults = append(d.faults, &f)
	}
	return d
}

// Inject adds a fault.
func (d *Driver) Inject(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, &f)
}

// Launches returns the kernels that ran since the last call, in their order.
func (d *Driver) Launches() []Launched {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.launches
	d.launches = nil
	return list
}

// Steps returns the number of thread instructions executed.
func (d *Driver) Steps() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.steps
}

// fail makes the error of a call.
func fail(call string, r driver.Result, format string, args ...any) error {
	return &driver.Error{Call: call, Result: r, Detail: fmt.Sprintf(format, args...)}
}

// injected returns the error that was ordered for a call. The lock is held.
func (d *Driver) injected(call, kernel string) error {
	for _, f := range d.faults {
		if f.Call != call || f.Kernel != kernel || f.N < 0 {
			continue
		}
		if f.N > 1 {
			f.N--
			continue
		}
		if f.N == 1 {
			f.N = -1
		}
		return fail(call, f.Result, "injected")
	}
	return nil
}

// enter begins a call that needs no context: it takes the lock, which the caller releases.
func (d *Driver) enter(call string) error {
	d.mu.Lock()
	if err := d.injected(call, ""); err != nil {
		return err
	}
	if !d.started && call != "cuInit" && call != "cuDriverGetVersion" {
		return fail(call, driver.NotInitialized, "")
	}
	return nil
}

// handle registers an object.
func (d *Driver) handle(x any) uintptr {
	d.next += 16
	d.handles[d.next] = x
	return d.next
}

// object begins a call on an object of the current context; the caller releases the lock.
func object[T interface{ owner() *context }](d *Driver, call string, h uintptr) (T, error) {
	c, err := d.with(call)
	if err != nil {
		var none T
		return none, err
	}
	return lookup[T](d, c, call, h)
}

// lookup returns the object of a handle, which must have the type and belong to the context.
func lookup[T interface{ owner() *context }](d *Driver, c *context, call string, h uintptr) (T, error) {
	x, ok := d.handles[h].(T)
	if !ok || c != nil && x.owner() != c {
		var none T
		return none, fail(call, 400, "handle %#x", h)
	}
	return x, nil
}
