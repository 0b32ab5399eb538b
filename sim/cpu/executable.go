package cpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"prismtop/sim/cpu/pool"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// An executable: a plan loaded into memory and run, the forms in which it keeps variables,
// and reading and writing its buffers.

// executable is a plan bound to memory: one closure per step.
type executable struct {
	plan    *nn.Plan
	pool    *pool.Pool
	state   *state
	used    []int // variables that the state keeps for this plan
	copied  []int // variables of which this plan reads a copy
	factors map[nn.BufferID]*factors
	changed [nn.NumSegments][]int // variables that each segment writes
	views   []view
	steps   []func()
	kernels []string // of convolutions; "" for other steps
	nanos   []int64
	written []uint32 // writes to each buffer from outside the plan
	shares  []share
	memory  memory // shared with executables loaded beside this one
	scratch int64
	epoch   time.Time // origin of step times
}

// memory is what executables of a state can share, of which one runs at a time.
type memory struct {
	arena, scratch slab
	transformed    map[form]*transformed
	users          *int // executables that were loaded with it
}

// form is a variable in one of the forms in which convolutions multiply it.
type form struct {
	variable int
	kind     formKind
}

// formKind is a form of weights.
type formKind uint8

const (
	winogradForm     formKind = iota // for Winograd's algorithm
	packedForm                       // square.Convolution's for Conv2D
	mirroredForm                     // the same for gradients
	phasesForm                       // for up-sampled images
	pairForm                         // pairs of neighbouring input channels in bfloat16
	winogradPairForm                 // for Winograd's algorithm on such pairs
	tileForm                         // pairs of input channels, by taps, for tiles
)

// transformed are weights in another form.
type transformed struct {
	values []float32
	seen   int // changes of the variable that they follow
}

// view is a buffer's memory, in the field for its type.
type view struct {
	f []float32
	h []uint16
	c []complex64
}

// Load binds a plan to a state of the same variables and allocates the arena and
// the scratch. It is an error if the state belongs to another backend, a buffer
// lies outside the arena, an operator has no kernel, or operands do not match.
func (b *Backend) Load(ctx context.Context, plan *nn.Plan, st nn.State) (nn.Executable, error) {
	return b.loadIn(ctx, plan, st, memory{transformed: map[form]*transformed{}, users: new(int)})
}

// LoadBeside is Load with the arena, the scratch and the transformed weights of another
// executable. It is also an error if that one has another state or is closed.
func (b *Backend) LoadBeside(ctx context.Context, plan *nn.Plan, st nn.State,
	beside nn.Executable) (nn.Executable, error) {
	other, ok := beside.(*executable)
	if !ok || other.state != st || other.steps == nil {
		return nil, errors.New("cpu backend: load a plan beside another: must be an open executable of this " +
			"backend and state")
	}
	return b.loadIn(ctx, plan, st, other.memory)
}

// loadIn is Load with memory that is there already.
func (b *Backend) loadIn(ctx context.Context, plan *nn.Plan, st nn.State, m memory) (nn.Executable, error) {
	s, ok := st.(*state)
	if !ok {
		return nil, fmt.Errorf("cpu backend: load a plan: state is of type %T, want this backend's own", st)
	}
	x := &executable{plan: plan, pool: b.pool, state: s, memory: m, nanos: make([]int64, len(plan.Steps)),
		epoch: time.Now()}
	if err := x.load(ctx, b); err != nil {
		x.Close()
		return nil, err
	}
	if size := x.memory.scratch.size; size > m.scratch.size {
		x.scratch += size
	}
	if size := x.memory.arena.size; m.arena.size > 0 && size > m.arena.size {
		x.scratch += size // beside an executable with a smaller one
	}
	return x, nil
}

// load finds the buffers' memory and binds the steps.
func (x *executable) load(ctx context.Context, b *Backend) error {
	plan := x.plan
	if err := x.place(ctx, x.state); err != nil {
		return err
	}
	if err := plan.Check(); err != nil {
		return err
	}
	x.written = make([]uint32, len(plan.Buffers))
	bind := &binder{ctx: ctx, backend: b, plan: plan, views: x.views, written: x.written, state: x.state,
		transformed: x.memory.transformed, users: x.memory.users, factors: map[nn.BufferID]*factors{}}
	*x.memory.users++
	bind.listCasts()
	// The first round adds up the scratch that the steps need, the second hands
	// out pieces of one slab of that size.
	for round := range 2 {
		bind.final = round > 0
		if bind.most > x.memory.scratch.size {
			var err error
			if x.memory.scratch, err = newSlabWithin(ctx, bind.most); err != nil {
				return err
			}
		}
		bind.memory = x.memory.scratch
		bind.families, bind.shares = bind.kernels(), nil
		x.steps, x.kernels = x.steps[:0], x.kernels[:0]
		for i := range plan.Steps {
			if err := ctx.Err(); err != nil {
				return err
			}
			bind.index = i
			run, err := bind.step(&plan.Steps[i])
			if err != nil {
				return fmt.Errorf("step %d %q (%T): %w", i, plan.Steps[i].Name, plan.Steps[i].Op, err)
			}
			x.steps, x.kernels = append(x.steps, run), append(x.kernels, strings.Join(bind.served, ", "))
		}
	}
	x.shares, x.factors = bind.shares, bind.factors
	for v, c := range bind.copied {
		c.users++
		x.copied = append(x.copied, v)
	}
	x.listChanges()
	x.scratch = bind.tables / 2 // tables are counted in both rounds
	return nil
}

// listChanges lists the variables that each segment writes.
func (x *executable) listChanges() {
	for s, steps := range x.plan.Segments {
		for _, step := range x.plan.Steps[steps[0]:steps[1]] {
			for _, id := range step.Out {
				if v := x.plan.Buffers[id].Variable; v >= 0 && !x.plan.Buffers[id].Factored {
					x.changed[s] = append(x.changed[s], v)
				}
			}
		}
	}
}

// place finds the memory of every buffer.
func (x *executable) place(ctx context.Context, s *state) error {
	var err error
	if size := x.plan.ArenaBytes; size > x.memory.arena.size {
		if x.memory.arena, err = newSlabWithin(ctx, size); err != nil {
			return err
		}
	}
	arena := x.memory.arena
	x.views = make([]view, len(x.plan.Buffers))
	for i := range x.plan.Buffers {
		buf := &x.plan.Buffers[i]
		n := buf.Shape.Elements()
		if v := buf.Variable; v >= 0 {
			if v >= len(s.values) || s.variables[v].Shape.Elements() != n || buf.DType != tensor.Float32 {
				return fmt.Errorf("buffer %q (%v %v) is not the state's variable %d", buf.Name, buf.DType, buf.Shape, v)
			}
			if buf.Factored {
				continue
			}
			if x.views[i].f, err = s.use(ctx, v); err != nil {
				return err
			}
			x.used = append(x.used, v)
			continue
		}
		if buf.Offset < 0 || buf.Offset%alignment != 0 || buf.Offset+buf.Bytes() > x.plan.ArenaBytes {
			return fmt.Errorf("buffer %q: %d bytes at %d do not fit an arena of %d", buf.Name, buf.Bytes(), buf.Offset,
				x.plan.ArenaBytes)
		}
		switch buf.DType {
		case tensor.Float32:
			x.views[i].f = cut[float32](&arena, buf.Offset, n)
		case tensor.BFloat16, tensor.Float16:
			x.views[i].h = cut[uint16](&arena, buf.Offset, n)
		case tensor.Complex64:
			x.views[i].c = cut[complex64](&arena, buf.Offset, n)
		default:
			return fmt.Errorf("buffer %q: no element type %v", buf.Name, buf.DType)
		}
	}
	return nil
}

// countChanges counts the changes of the variables that a segment writes. If it ran whole, copies
// written with them have followed.
func (x *executable) countChanges(s nn.Segment, whole bool) {
	for _, v := range x.changed[s] {
		x.state.changes[v]++
		delete(x.state.factors, v)
		if c := x.state.copies[v]; c != nil {
			if c.fresh && whole {
				c.seen = x.state.changes[v]
			}
			c.fresh = false
		}
	}
}

// Run executes the steps of one segment and times each. When ctx ends, the loops of
// the current step are cut short and the remaining steps are skipped.
func (x *executable) Run(ctx context.Context, s nn.Segment) error {
	if s >= nn.NumSegments {
		return fmt.Errorf("cpu backend: run segment %d: there are %d", s, nn.NumSegments)
	}
	if x.steps == nil {
		return fmt.Errorf("cpu backend: run a closed executable")
	}
	defer x.pool.Attach(x.pool.Attach(ctx))
	first, end := x.plan.Segments[s][0], x.plan.Segments[s][1]
	before := time.Since(x.epoch)
	for i := first; i < end; i++ {
		x.steps[i]()
		if err := ctx.Err(); err != nil {
			x.countChanges(s, false)
			return err
		}
		after := time.Since(x.epoch)
		x.nanos[i] = int64(after - before)
		before = after
	}
	x.countChanges(s, true)
	for _, s := range x.shares {
		if s.step >= first && s.step < end {
			x.nanos[s.of] -= *s.nanos
			x.nanos[s.step] += *s.nanos
		}
	}
	return nil
}

// StepNanos returns the time each step took in its last run. The slice is reused.
func (x *executable) StepNanos() []int64 { return x.nanos }

// Kernels returns the kernels that compute each convolution of the plan, the outer one first.
func (x *executable) Kernels() []string { return x.kernels }

// Write copies src to buffer b, rounding to the buffer's type. It panics if the
// lengths differ.
func (x *executable) Write(b nn.BufferID, src []float32) {
	x.note(b)
	buf, v := &x.plan.Buffers[b], &x.views[b]
	switch buf.DType {
	case tensor.Complex64:
		if len(src) != 2*len(v.c) {
			panic(fmt.Sprintf("cpu: %q: write of %d floats to %d complex elements", buf.Name, len(src), len(v.c)))
		}
		for i := range v.c {
			v.c[i] = complex(src[2*i], src[2*i+1])
		}
	case tensor.Float32:
		mustCopy(buf.Name, v.f, src)
	default:
		tensor.Narrow(buf.DType, v.h, src)
	}
}

// Map returns the memory of buffer b, or nil if its type is not float32.
func (x *executable) Map(b nn.BufferID) []float32 {
	x.note(b)
	return x.views[b].f
}

// note counts a write to buffer b from outside the plan.
func (x *executable) note(b nn.BufferID) {
	x.written[b]++
	if v := x.plan.Buffers[b].Variable; v >= 0 {
		x.state.changes[v]++
	}
}

// Read copies buffer b to dst. It panics if the lengths differ.
func (x *executable) Read(b nn.BufferID, dst []float32) {
	buf, v := &x.plan.Buffers[b], &x.views[b]
	switch buf.DType {
	case tensor.Complex64:
		if len(dst) != 2*len(v.c) {
			panic(fmt.Sprintf("cpu: %q: read of %d complex elements to %d floats", buf.Name, len(v.c), len(dst)))
		}
		for i, z := range v.c {
			dst[2*i], dst[2*i+1] = real(z), imag(z)
		}
	case tensor.Float32:
		if buf.Factored {
			x.state.Read(buf.Variable, dst)
			return
		}
		mustCopy(buf.Name, dst, v.f)
	default:
		tensor.Widen(buf.DType, dst, v.h)
	}
}

// ScratchBytes returns the size of the kernels' scratch and of the tables made at
// Load.
func (x *executable) ScratchBytes() int64 { return x.scratch }

// Close frees the arena and the gradients that no other plan uses.
func (x *executable) Close() {
	for _, v := range x.used {
		x.state.release(v)
	}
	for _, v := range x.copied {
		x.state.leaveCopy(v)
	}
	for id, f := range x.factors {
		if v := x.plan.Buffers[id].Variable; x.state.factors[v] == f {
			delete(x.state.factors, v)
		}
	}
	x.views, x.steps, x.used, x.copied, x.memory = nil, nil, nil, nil, memory{}
}
