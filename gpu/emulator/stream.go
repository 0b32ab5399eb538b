package emulator

import (
	"errors"
	"slices"
	"time"

	"prismtop/gpu/driver"
	"prismtop/gpu/emulator/ptx"
)

// Streams and events: queues of work, kernels among it, their order and the times between events.

// stream is a queue of work. Its nodes run when something waits for them, or at once unless Options.Deferred is set.
type stream struct {
	context *context
	queue   []*node
	done    uint64 // nodes that ran
	issued  uint64 // nodes ever queued
	capture *capture
	tail    []int // of the capture: the nodes that the next one follows
}

func (s *stream) owner() *context { return s.context }

// node is a piece of work on a stream or in a graph.
type node struct {
	run   func() error
	after []int // of a graph: the nodes it follows
}

// stream returns a stream by its handle; 0 is the default stream. The lock is held.
func (d *Driver) stream(c *context, call string, s driver.Stream) (*stream, error) {
	if s == 0 {
		return c.streams[0], nil
	}
	return lookup[*stream](d, c, call, uintptr(s))
}

// on begins a call on a stream of the current context; the caller releases the lock.
func (d *Driver) on(call string, s driver.Stream) (*stream, error) {
	c, err := d.with(call)
	if err != nil {
		return nil, err
	}
	return d.stream(c, call, s)
}

// enqueue adds to a stream, or to the graph that captures it, the node that make returns.
func (d *Driver) enqueue(call string, x driver.Stream, make func(c *context) (*node, error)) error {
	s, err := d.on(call, x)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	n, err := make(s.context)
	if err != nil {
		return err
	}
	if s.capture != nil {
		return s.capture.add(call, s, n)
	}
	d.push(s, n)
	return nil
}

// push queues a node and runs it unless work is deferred. The error of a node ends the context; later calls return it.
func (d *Driver) push(s *stream, n *node) {
	s.queue = append(s.queue, n)
	s.issued++
	if !d.options.Deferred {
		d.drain(s, s.issued)
	}
}

// drain runs the nodes of a stream up to the given number of them.
func (d *Driver) drain(s *stream, upTo uint64) {
	for s.done < upTo && len(s.queue) > 0 && s.context.broken == nil {
		n := s.queue[0]
		s.queue = s.queue[1:]
		s.done++
		if err := n.run(); err != nil && s.context.broken == nil {
			var e *driver.Error
			if !errors.As(err, &e) {
				e = &driver.Error{Result: 719, Detail: err.Error()}
			}
			s.context.broken = e
		}
	}
}

// drainAll runs all work of a context and returns the error that ended it, if any.
func (d *Driver) drainAll(call string, c *context) error {
	handles := make([]driver.Stream, 0, len(c.streams))
	for h := range c.streams {
		handles = append(handles, h)
	}
	slices.Sort(handles)
	for _, h := range handles {
		s := c.streams[h]
		d.drain(s, s.issued)
	}
	return c.state(call)
}

// state returns the error that ended the context as the error of a call.
func (c *context) state(call string) error {
	if c.broken == nil {
		return nil
	}
	return fail(call, c.broken.Result, "%s", c.broken.Detail)
}

// StreamCreate makes a stream that does not synchronise with the default stream.
func (d *Driver) StreamCreate() (driver.Stream, error) {
	c, err := d.with("cuStreamCreate")
	defer d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	s := &stream{context: c}
	h := driver.Stream(d.handle(s))
	c.streams[h] = s
	return h, nil
}

// StreamDestroy frees a stream; its queued work is still done.
func (d *Driver) StreamDestroy(x driver.Stream) error {
	const call = "cuStreamDestroy"
	s, err := object[*stream](d, call, uintptr(x))
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	if s.capture != nil {
		s.capture.invalidate()
	}
	d.drain(s, s.issued)
	delete(s.context.streams, x)
	delete(d.handles, uintptr(x))
	return nil
}

// StreamSynchronize waits for the work of a stream.
func (d *Driver) StreamSynchronize(x driver.Stream) error {
	const call = "cuStreamSynchronize"
	s, err := d.waitable(call, x)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	d.drain(s, s.issued)
	return s.context.state(call)
}

// waitable begins a call that waits for a stream, which must not be captured.
func (d *Driver) waitable(call string, x driver.Stream) (*stream, error) {
	s, err := d.on(call, x)
	if err != nil {
		return nil, err
	}
	if s.capture != nil {
		s.capture.invalidate()
		return nil, fail(call, driver.CaptureUnsupported, "the stream is being captured")
	}
	return s, nil
}

// StreamQuery reports whether the work of a stream is done. With deferred work each query does one piece.
func (d *Driver) StreamQuery(x driver.Stream) (bool, error) {
	const call = "cuStreamQuery"
	s, err := d.waitable(call, x)
	defer d.mu.Unlock()
	if err != nil {
		return false, err
	}
	idle := len(s.queue) == 0
	d.drain(s, s.done+1)
	return idle, s.context.state(call)
}

// LaunchKernel enqueues a kernel. What the kernel does wrong is an error of later calls.
func (d *Driver) LaunchKernel(x driver.Function, grid, block driver.Dim, shared int, s driver.Stream,
	parameter []byte) error {
	const call = "cuLaunchKernel"
	return d.enqueue(call, s, func(c *context) (*node, error) {
		f, err := lookup[*function](d, c, call, uintptr(x))
		if err != nil {
			return nil, err
		}
		if shared > f.maxDynamic {
			return nil, fail(call, 1, "kernel %s: %d bytes of dynamic shared memory, at most %d", f.kernel.Name, shared,
				f.maxDynamic)
		}
		threads := int64(block[0]) * int64(block[1]) * int64(block[2])
		if regs, _ := c.device.attribute(driver.MaxRegistersPerBlock); threads > int64(f.maxThreads()) ||
			threads*int64(f.registers()) > int64(regs) && f.kernel.MaxThreads == 0 && threads > 1024 {
			return nil, fail(call, 701, "kernel %s: a block of %v threads, at most %d", f.kernel.Name, block,
				f.maxThreads())
		}
		launch := ptx.Launch{
			Kernel: f.kernel, Module: f.module.loaded, Memory: c.memory, Grid: grid, Block: block, Shared: shared,
			Param: slices.Clone(parameter), Checks: d.options.Checks, Workers: d.options.Workers,
			Steps: d.options.Steps, Pool: &d.pool,
		}
		if err := launch.Check(); err != nil {
			return nil, fail(call, 1, "%v", err)
		}
		return &node{run: func() error { return d.launch(&launch) }}, nil
	})
}

// launch runs a kernel.
func (d *Driver) launch(x *ptx.Launch) error {
	if err := d.injected("", x.Kernel.Name); err != nil {
		e := err.(*driver.Error)
		return fail("cuLaunchKernel", e.Result, "kernel %s: injected", x.Kernel.Name)
	}
	run := *x
	steps, err := run.Run()
	d.steps += steps
	d.launches = append(d.launches, Launched{x.Kernel.Name, x.Grid, x.Block, x.Shared, steps})
	if err == nil {
		return nil
	}
	result := driver.Result(1)
	if f, ok := err.(*ptx.Fault); ok {
		result = results[f.Kind]
	}
	return fail("cuLaunchKernel", result, "%v", err)
}

// results are those that hardware gives for a fault; faults that hardware does not see end as 719.
var results = map[ptx.FaultKind]driver.Result{
	ptx.OutOfBounds: driver.IllegalAddress, ptx.Misaligned: 716, ptx.Uninitialised: 719, ptx.Race: 719,
	ptx.Divergence: 719, ptx.Deadlock: 702, ptx.Timeout: 702, ptx.Trap: 719,
}

// event is a point in a stream.
type event struct {
	context  *context
	timed    bool
	stream   *stream // that it was recorded on last, nil before
	position uint64  // nodes of the stream up to the record
	time     time.Time
	recorded bool // the record has run
	capture  *capture
	tail     []int // of the capture: the nodes before the event
}

func (e *event) owner() *context { return e.context }

// EventCreate makes an event.
func (d *Driver) EventCreate(timed bool) (driver.Event, error) {
	c, err := d.with("cuEventCreate")
	defer d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return driver.Event(d.handle(&event{context: c, timed: timed})), nil
}

// EventDestroy frees an event.
func (d *Driver) EventDestroy(x driver.Event) error {
	const call = "cuEventDestroy"
	_, err := object[*event](d, call, uintptr(x))
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	delete(d.handles, uintptr(x))
	return nil
}

// EventRecord records an event on a stream.
func (d *Driver) EventRecord(x driver.Event, s driver.Stream) error {
	return d.record("cuEventRecord", x, s, false)
}

// EventRecordExternal records an event; in a captured graph every launch of the graph records it.
func (d *Driver) EventRecordExternal(x driver.Event, s driver.Stream) error {
	return d.record("cuEventRecordWithFlags", x, s, true)
}

func (d *Driver) record(call string, x driver.Event, y driver.Stream, external bool) error {
	e, err := object[*event](d, call, uintptr(x))
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	s, err := d.stream(e.context, call, y)
	if err != nil {
		return err
	}
	stamp := &node{run: func() error { e.time, e.recorded = time.Now(), true; return nil }}
	if s.capture != nil {
		if external {
			return s.capture.add(call, s, stamp)
		}
		e.capture, e.tail = s.capture, slices.Clone(s.tail)
		return s.capture.state(call)
	}
	if external {
		return fail(call, 1, "an external record outside of a capture")
	}
	e.capture, e.recorded = nil, false
	e.stream, e.position = s, s.issued+1
	d.push(s, stamp)
	return nil
}

// usable begins a call on an event that must not belong to a capture.
func (d *Driver) usable(call string, x driver.Event) (*event, error) {
	e, err := object[*event](d, call, uintptr(x))
	if err != nil {
		return nil, err
	}
	if e.capture != nil {
		e.capture.invalidate()
		return nil, fail(call, 907, "the event was recorded in a capture")
	}
	return e, nil
}

// EventQuery reports whether the work before the event is done; an event never recorded is.
func (d *Driver) EventQuery(x driver.Event) (bool, error) {
	const call = "cuEventQuery"
	e, err := d.usable(call, x)
	defer d.mu.Unlock()
	if err != nil {
		return false, err
	}
	if e.stream == nil {
		return true, nil
	}
	done := e.stream.done >= e.position
	d.drain(e.stream, min(e.stream.done+1, e.position))
	return done, e.context.state(call)
}

// EventSynchronize waits for the work before the event.
func (d *Driver) EventSynchronize(x driver.Event) error {
	const call = "cuEventSynchronize"
	e, err := d.usable(call, x)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	if e.stream != nil {
		d.drain(e.stream, e.position)
	}
	return e.context.state(call)
}

// EventElapsed returns the milliseconds of the host's clock between two events.
func (d *Driver) EventElapsed(x, y driver.Event) (float32, error) {
	const call = "cuEventElapsedTime"
	start, err := d.usable(call, x)
	defer d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	end, err := lookup[*event](d, start.context, call, uintptr(y))
	switch {
	case err != nil:
		return 0, err
	case !start.timed || !end.timed || start.time.IsZero() || end.time.IsZero():
		return 0, fail(call, 400, "an event was not recorded or does not measure time")
	case !start.recorded || !end.recorded:
		return 0, fail(call, 600, "an event has not happened yet")
	}
	return float32(end.time.Sub(start.time).Seconds() * 1e3), nil
}

// StreamWaitEvent makes a stream wait for an event.
func (d *Driver) StreamWaitEvent(x driver.Stream, y driver.Event) error {
	const call = "cuStreamWaitEvent"
	s, err := d.on(call, x)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	e, err := lookup[*event](d, s.context, call, uintptr(y))
	if err != nil {
		return err
	}
	switch {
	case e.capture != nil:
		return e.capture.join(call, s, e)
	case s.capture != nil:
		s.capture.invalidate()
		return fail(call, 905, "the event was recorded outside of the capture")
	case e.stream == nil:
		return nil
	}
	from, position := e.stream, e.position
	d.push(s, &node{run: func() error { d.drain(from, position); return nil }})
	return nil
}
