package emulator

import (
	"fmt"
	"slices"
	"strings"

	"prismtop/gpu/driver"
	"prismtop/gpu/emulator/memory"
)

// Contexts: which is current to a thread, and its end.

// context is the primary context of a device.
type context struct {
	device  *device
	handle  uintptr
	memory  *memory.Space
	streams map[driver.Stream]*stream
	broken  *driver.Error // the error that ended the context
	dead    bool          // released
}

func (c *context) owner() *context { return c }

// PrimaryContextRetain makes or returns the context of a device.
func (d *Driver) PrimaryContextRetain(x driver.Device) (driver.Context, error) {
	v, err := d.device("cuDevicePrimaryCtxRetain", x)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	v.retains++
	if v.context == nil {
		c := &context{device: v, memory: memory.NewSpace(v.Memory), streams: map[driver.Stream]*stream{}}
		c.streams[0] = &stream{context: c}
		c.handle = d.handle(c)
		v.context = c
	}
	return driver.Context(v.context.handle), nil
}

// PrimaryContextRelease gives a context back; the last release destroys it with all that it holds.
func (d *Driver) PrimaryContextRelease(x driver.Device) error {
	v, err := d.device("cuDevicePrimaryCtxRelease", x)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if v.retains == 0 {
		return fail("cuDevicePrimaryCtxRelease", 201, "the context was not retained")
	}
	if v.retains--; v.retains > 0 {
		return nil
	}
	c := v.context
	v.context, c.dead = nil, true
	for h, o := range d.handles {
		if o, ok := o.(interface{ owner() *context }); ok && o.owner() == c {
			delete(d.handles, h)
		}
	}
	for t, current := range d.current {
		if current == c {
			delete(d.current, t)
		}
	}
	return nil
}

// ContextSetCurrent makes a context current to the calling thread.
func (d *Driver) ContextSetCurrent(x driver.Context) error {
	err := d.enter("cuCtxSetCurrent")
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	if x == 0 {
		delete(d.current, thread())
		return nil
	}
	c, err := lookup[*context](d, nil, "cuCtxSetCurrent", uintptr(x))
	if err != nil {
		return fail("cuCtxSetCurrent", 201, "context %#x", x)
	}
	d.current[thread()] = c
	return nil
}

// with begins a call that needs a context: it takes the lock, which the caller releases.
func (d *Driver) with(call string) (*context, error) {
	if err := d.enter(call); err != nil {
		return nil, err
	}
	c := d.current[thread()]
	if c == nil {
		return nil, fail(call, 201, "no context is current to the thread")
	}
	if c.broken != nil {
		return nil, fail(call, c.broken.Result, "%s", c.broken.Detail)
	}
	return c, nil
}

// ContextSynchronize waits for all streams of the context.
func (d *Driver) ContextSynchronize() error {
	c, err := d.with("cuCtxSynchronize")
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	if err := d.forbidden("cuCtxSynchronize", c); err != nil {
		return err
	}
	return d.drainAll("cuCtxSynchronize", c)
}

// MemGetInfo returns the free and the total memory in bytes.
func (d *Driver) MemGetInfo() (free, total int64, err error) {
	c, err := d.with("cuMemGetInfo")
	defer d.mu.Unlock()
	if err != nil {
		return 0, 0, err
	}
	return c.device.Memory - c.memory.Used(), c.device.Memory, nil
}

// Close reports what is still allocated: memory of devices and of the host, contexts, modules, streams, events, graphs.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var left []string
	for _, v := range d.devices {
		if v.context == nil {
			continue
		}
		left = append(left, fmt.Sprintf("the context of device %d", v.ordinal))
		for _, a := range v.context.memory.Live() {
			if a.Name == "" {
				left = append(left, a.String())
			}
		}
	}
	for _, x := range d.handles {
		switch x.(type) {
		case *module:
			left = append(left, "a module")
		case *stream:
			left = append(left, "a stream")
		case *event:
			left = append(left, "an event")
		case *graph:
			left = append(left, "a graph")
		case *graphExec:
			left = append(left, "an instantiated graph")
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return fmt.Errorf("emulator: not freed: %s", strings.Join(left, "; "))
}
