package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// An executable: loading a plan, running a segment of it, the times of steps, and reading and writing buffers.

// executable is a plan bound to memory on the device.
type executable struct {
	backend  *Backend
	plan     *nn.Plan
	state    *state
	stores   bool // gradients
	arena    *slab
	own      int64 // bytes of the arena that only this executable needed
	graphs   int64 // bytes that the driver took to capture the segments
	at       []driver.Pointer
	private  slab
	launches []launch
	segments [nn.NumSegments]segment
	scalars  scalars
	wide     []uint16 // work space of Read and Write
	closed   bool

	detailed bool // time every step
	nanos    []int64
}

// Load binds a plan to a state of the same variables, allocates the arena and the workspace, and captures the
// segments as graphs. It is an error if the state belongs to another backend, a buffer lies outside the arena, an
// operator has no kernel (ErrNoKernel), operands do not match, or the device's memory does not suffice (*MemoryError).
func (b *Backend) Load(ctx context.Context, plan *nn.Plan, st nn.State) (nn.Executable, error) {
	return b.load(ctx, plan, st, &slab{})
}

// LoadBeside is Load with the arena of another executable of the same state.
func (b *Backend) LoadBeside(ctx context.Context, plan *nn.Plan, st nn.State,
	beside nn.Executable) (nn.Executable, error) {
	other, ok := beside.(*executable)
	if !ok || other.closed || nn.State(other.state) != st {
		return nil, errors.New("cuda backend: load a plan beside another: must be an open executable of this " +
			"backend and state")
	}
	return b.load(ctx, plan, st, other.arena)
}

func (b *Backend) load(ctx context.Context, plan *nn.Plan, st nn.State, arena *slab) (nn.Executable, error) {
	s, ok := st.(*state)
	if !ok || s.backend != b {
		return nil, fmt.Errorf("cuda backend: load a plan: state is of type %T, want this backend's own", st)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := plan.Check(); err != nil {
		return nil, err
	}
	if err := b.enter(); err != nil {
		return nil, err
	}
	defer b.leave()
	x, err := b.again(plan, s, arena)
	if err != nil {
		return nil, err
	}
	if x != nil {
		return x, nil
	}
	for {
		dropped := b.dropped
		err = b.freeing(func() (err error) {
			x, err = b.capture(plan, s, arena)
			return err
		})
		short := nn.Short(err)
		switch {
		case err == nil:
			return x, nil
		case !short || b.dropped == dropped: // else the new executable may have held what is free now
			return nil, err
		}
	}
}

// capture makes an executable of a plan.
func (b *Backend) capture(plan *nn.Plan, s *state, arena *slab) (*executable, error) {
	x := &executable{backend: b, plan: plan, state: s, nanos: make([]int64, len(plan.Steps))}
	err := b.measured(func() error {
		err := x.load(arena)
		if err != nil {
			x.close()
		}
		return err
	})
	if err != nil && !x.closed {
		x.close()
	}
	return x, err
}

// load finds the buffers' memory, lowers the steps and captures the graphs.
func (x *executable) load(arena *slab) error {
	b := x.backend
	if err := x.findArena(arena); err != nil {
		return err
	}
	if err := x.place(); err != nil {
		return err
	}
	var sizes builder
	for final := range 2 {
		build := builder{backend: b, plan: x.plan, at: slices.Clone(x.at)} // which lowering may change
		if final == 1 {
			x.private.bytes = sizes.privateBytes + sizes.work[0].most + sizes.work[1].most
			if x.private.bytes > 0 {
				var err error
				if x.private.at, err = b.allocate(x.private.bytes, "the kernels' work space"); err != nil {
					x.private.bytes = 0
					return err
				}
			}
			build.private = x.private.at
			build.work[0].at = build.private + driver.Pointer(sizes.privateBytes)
			build.work[1].at = build.work[0].at + driver.Pointer(sizes.work[0].most)
		}
		if err := build.lowerAll(); err != nil {
			return err
		}
		sizes = build
	}
	for _, c := range sizes.constants {
		if err := b.upload(c.at, c.data); err != nil {
			return err
		}
	}
	x.launches, x.at = sizes.launches, sizes.at
	if err := x.scalars.find(x); err != nil {
		return err
	}
	before, err := b.unaccounted()
	if err == nil {
		err = x.split()
	}
	if err != nil {
		return err
	}
	after, err := b.unaccounted()
	x.graphs = max(after-before, 0)
	return err
}

// findArena allocates an arena, unless the other executable's is large enough.
func (x *executable) findArena(arena *slab) error {
	need := roundUp(x.plan.ArenaBytes)
	if arena.at == 0 || arena.bytes < need {
		shared := arena.at != 0
		if arena = x.backend.idle(x.state, need); arena == nil {
			arena = &slab{}
		}
		if need > 0 && arena.at == 0 {
			at, err := x.backend.allocate(need, "the results of the layers")
			if err != nil {
				return err
			}
			arena.at, arena.bytes = at, need
		}
		if shared {
			x.own = need
		}
	}
	arena.use(need)
	x.arena = arena
	return nil
}

// place finds the address of every buffer.
func (x *executable) place() error {
	x.at = make([]driver.Pointer, len(x.plan.Buffers))
	s := x.state
	for i := range x.plan.Buffers {
		v := x.plan.Buffers[i].Variable
		if v >= 0 && v < len(s.variables) && s.variables[v].Category == nn.Gradients && !x.stores {
			if err := s.useGradients(); err != nil {
				return err
			}
			x.stores = true
		}
	}
	for i := range x.plan.Buffers {
		buffer := &x.plan.Buffers[i]
		if v := buffer.Variable; v >= 0 {
			if v >= len(s.variables) || s.variables[v].Shape.Elements() != buffer.Shape.Elements() ||
				buffer.DType != tensor.Float32 {
				return fmt.Errorf("buffer %q (%v %v) is not the state's variable %d", buffer.Name, buffer.DType,
					buffer.Shape, v)
			}
			x.at[i] = s.at(v)
			continue
		}
		if buffer.Offset < 0 || buffer.Offset+buffer.Bytes() > x.plan.ArenaBytes {
			return fmt.Errorf("buffer %q: %d bytes at %d do not fit an arena of %d", buffer.Name, buffer.Bytes(),
				buffer.Offset, x.plan.ArenaBytes)
		}
		x.at[i] = x.arena.at + driver.Pointer(buffer.Offset)
	}
	for i := range x.plan.Steps {
		step := &x.plan.Steps[i]
		for _, ids := range [][]nn.BufferID{step.In, step.Out} {
			for _, id := range ids {
				if id < 0 || int(id) >= len(x.at) {
					return fmt.Errorf("step %d %q: no buffer %d", i, step.Name, id)
				}
			}
		}
	}
	return nil
}

// Run enqueues the steps of one segment. It returns before they are done, and waits, within the context's time, only
// if the segment before has not ended.
func (x *executable) Run(ctx context.Context, s nn.Segment) error {
	if s >= nn.NumSegments {
		return fmt.Errorf("cuda backend: run segment %d: there are %d", s, nn.NumSegments)
	}
	if x.closed {
		return errors.New("cuda backend: run a closed executable")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b := x.backend
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	if err := b.pending; err != nil {
		b.pending = nil
		return err
	}
	return x.segments[s].run(ctx, x)
}

// StepNanos returns the time of each step in the newest run of its segment that has ended. Unless steps are timed one
// by one (Detail), the time of consecutive steps of one phase is that of the first of them.
func (x *executable) StepNanos() []int64 {
	b := x.backend
	if err := b.enter(); err != nil {
		b.remember(err)
		return x.nanos
	}
	defer b.leave()
	for s := range x.segments {
		b.remember(x.segments[s].readTimes(x))
	}
	return x.nanos
}

// Detail switches the timing of every step on or off. With it, the host enqueues the kernels one by one.
func (x *executable) Detail(on bool) { x.detailed = on }

// Write copies src to buffer b, rounding to the buffer's type. It panics if the lengths differ.
func (x *executable) Write(id nn.BufferID, src []float32) {
	b, buffer := x.backend, &x.plan.Buffers[id]
	data := bytesOf(src)
	switch n := buffer.Shape.Elements(); buffer.DType {
	case tensor.Complex64:
		mustMatch(buffer, len(src), 2*n)
	case tensor.Float32:
		mustMatch(buffer, len(src), n)
	default:
		mustMatch(buffer, len(src), n)
		if len(x.wide) < n {
			x.wide = make([]uint16, n)
		}
		tensor.Narrow(buffer.DType, x.wide[:n], src)
		data = bytesOf(x.wide[:n])
	}
	x.scalars.forget(id)
	for s := range x.segments {
		delete(x.segments[s].outputs, id)
	}
	if err := b.enter(); err != nil {
		b.remember(err)
		return
	}
	defer b.leave()
	b.remember(b.upload(x.at[id], data))
}

// Read copies buffer b to dst, once the steps enqueued before have ended. It panics if the lengths differ. After the
// device is lost dst is left alone: the next Run returns the error.
func (x *executable) Read(id nn.BufferID, dst []float32) {
	b, buffer := x.backend, &x.plan.Buffers[id]
	n := buffer.Shape.Elements()
	if buffer.DType == tensor.Complex64 {
		n *= 2
	}
	mustMatch(buffer, len(dst), n)
	if err := b.enter(); err != nil {
		b.remember(err)
		return
	}
	defer b.leave()
	if known, err := x.scalars.read(x, id, dst); known {
		b.remember(err)
		return
	}
	stream, err := x.after(id)
	if err != nil {
		b.remember(err)
		return
	}
	if buffer.DType == tensor.Float32 || buffer.DType == tensor.Complex64 {
		b.remember(b.download(bytesOf(dst), x.at[id], stream))
		return
	}
	if len(x.wide) < n {
		x.wide = make([]uint16, n)
	}
	if err := b.download(bytesOf(x.wide[:n]), x.at[id], stream); err != nil {
		b.remember(err)
		return
	}
	tensor.Widen(buffer.DType, dst, x.wide[:n])
}

// Copy copies a buffer of another executable of this backend to an input, on the stream of the segments.
func (x *executable) Copy(to nn.BufferID, other nn.Executable, from nn.BufferID) error {
	y, ok := other.(*executable)
	if !ok || y.backend != x.backend || y.closed || x.closed {
		return errors.New("cuda backend: copy a buffer: must be of an open executable of this backend")
	}
	b, dst, src := x.backend, &x.plan.Buffers[to], &y.plan.Buffers[from]
	if dst.DType != src.DType || dst.Shape.Elements() != src.Shape.Elements() {
		return fmt.Errorf("cuda backend: copy %q (%v %v) to %q (%v %v)", src.Name, src.DType, src.Shape, dst.Name,
			dst.DType, dst.Shape)
	}
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	return b.check("a copy on the device", b.driver.MemcpyDtoDAsync(x.at[to], y.at[from], src.Bytes(), b.stream))
}

// after returns a stream on which a named output can be copied. The copy waits only for the end of the output's
// segment: a picture of the forward pass is read while the update computes.
func (x *executable) after(id nn.BufferID) (driver.Stream, error) {
	b := x.backend
	for s := range x.segments {
		if seg := &x.segments[s]; seg.outputs[id] {
			return b.copies, b.check("a copy from the device", b.driver.StreamWaitEvent(b.copies, seg.newest().done))
		}
	}
	return b.stream, nil
}

func mustMatch(buffer *nn.Buffer, have, want int) {
	if have != want {
		panic(fmt.Sprintf("cuda: %q: copy of %d numbers, it has %d", buffer.Name, have, want))
	}
}

// Map returns nil: the host cannot write the device's memory.
func (x *executable) Map(nn.BufferID) []float32 { return nil }

// ScratchBytes returns the memory of the kernels' work space and tables.
func (x *executable) ScratchBytes() int64 { return x.private.bytes + x.own }

// Close ends the use of the executable, which the backend keeps for an equal plan.
func (x *executable) Close() {
	if x.closed {
		return
	}
	b := x.backend
	if err := b.enter(); err != nil {
		b.remember(err)
		x.close()
		return
	}
	defer b.leave()
	err := errors.Join(b.synchronize(), b.check("the work on the device", b.driver.StreamSynchronize(b.second)))
	if b.remember(err); err != nil || x.state.closed {
		b.remember(b.released(x.close))
		return
	}
	b.keep(x)
}

func (x *executable) close() {
	x.closed = true
	b := x.backend
	for s := range x.segments {
		x.segments[s].close(b)
	}
	x.scalars.close(b)
	b.free(x.private.at, x.private.bytes)
	if x.arena != nil {
		x.arena.leave()
		x.arena.release(b)
	}
	if x.stores {
		x.state.leaveGradients()
	}
	x.private, x.arena, x.stores = slab{}, nil, false
}
