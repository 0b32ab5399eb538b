// Package beside has a backend for tests that behaves like a device beside the processor, a GPU: its memory is lost
// when it fails, it can be short of memory, and the times of an update are known one iteration late.
package beside

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"prismtop/sim/nn"
)

// Backend computes on another backend, under the name of another device.
type Backend struct {
	nn.Backend

	// Fault is called before every operation, named open, state, load, run, read, write: its error is that of the
	// operation. nil for a device that does not fail.
	Fault func(operation string) error

	// Notes are those of Remarks.
	Notes []string

	// Hang is called by Settle, which then waits for the end of its context, like a kernel that never ends. nil for
	// none.
	Hang func()

	// Longest is the longest line that it transforms; 0 for any.
	Longest int

	// Closed counts the calls of Close.
	Closed int

	dead, pending error
}

// LostError is a failure after which nothing on the device can be read.
type LostError struct{ During string }

func (e *LostError) Error() string { return "the test's GPU is lost, during " + e.During }

// Lost marks the error.
func (*LostError) Lost() {}

// MemoryError is a lack of memory.
type MemoryError struct{}

func (*MemoryError) Error() string { return "the test's GPU has too little memory" }

// Short marks the error.
func (*MemoryError) Short() (asked, free int64) { return 3 << 20, 1 << 20 }

// Device returns "cuda".
func (b *Backend) Device() string { return "cuda" }

// Kernels returns a name that no processor's kernels have.
func (b *Backend) Kernels() string { return "sm_80" }

// Card returns the model.
func (b *Backend) Card() string { return "Test GPU" }

// LongestTransform returns Longest.
func (b *Backend) LongestTransform() int { return cmp.Or(b.Longest, math.MaxInt) }

// Remarks returns Notes.
func (b *Backend) Remarks() []string { return b.Notes }

// Failure returns the error of an operation that returns none.
func (b *Backend) Failure() error {
	if b.dead != nil {
		return b.dead
	}
	err := b.pending
	b.pending = nil
	return err
}

// Close closes the other backend.
func (b *Backend) Close() {
	if b.Closed++; b.Closed == 1 {
		b.Backend.Close()
	}
}

func (b *Backend) try(operation string) error {
	if b.dead != nil {
		return b.dead
	}
	if b.Fault == nil {
		return nil
	}
	err := b.Fault(operation)
	if nn.Lost(err) {
		b.dead = err
	}
	return err
}

// NewState makes a state that can be lost.
func (b *Backend) NewState(ctx context.Context, variables []nn.Variable) (nn.State, error) {
	if err := b.try("state"); err != nil {
		return nil, err
	}
	s, err := b.Backend.NewState(ctx, variables)
	if err != nil {
		return nil, err
	}
	return &state{s, b}, nil
}

// Load loads a plan that can fail. It computes TF32 products as exact ones.
func (b *Backend) Load(ctx context.Context, plan *nn.Plan, st nn.State) (nn.Executable, error) {
	s, ok := st.(*state)
	if !ok {
		return nil, fmt.Errorf("a state of type %T is not this backend's", st)
	}
	if err := b.try("load"); err != nil {
		return nil, err
	}
	computed := *plan
	computed.Steps = slices.Clone(plan.Steps)
	for i := range computed.Steps {
		if computed.Steps[i].Products == nn.TF32 {
			computed.Steps[i].Products = nn.Exact
		}
	}
	exe, err := b.Backend.Load(ctx, &computed, s.State)
	if err != nil {
		return nil, err
	}
	return &executable{Executable: exe, backend: b, plan: plan, nanos: make([]int64, len(plan.Steps)),
		late: make([]int64, len(plan.Steps))}, nil
}

type state struct {
	nn.State
	backend *Backend
}

func (s *state) Read(v int, dst []float32) {
	if err := s.backend.try("read"); err != nil {
		s.backend.pending = err
		return
	}
	s.State.Read(v, dst)
}

func (s *state) Write(v int, src []float32) {
	if err := s.backend.try("write"); err != nil {
		s.backend.pending = err
		return
	}
	s.State.Write(v, src)
}

type executable struct {
	nn.Executable
	backend  *Backend
	plan     *nn.Plan
	nanos    []int64 // as known
	late     []int64 // of the newest update
	detailed bool
}

func (x *executable) Run(ctx context.Context, s nn.Segment) error {
	if err := x.backend.try("run"); err != nil {
		return err
	}
	if err := x.Executable.Run(ctx, s); err != nil {
		return err
	}
	times, to := x.Executable.StepNanos(), x.nanos
	if s == nn.SegmentUpdate {
		to = x.late
		x.settle()
	}
	for i := x.plan.Segments[s][0]; i < x.plan.Segments[s][1]; i++ {
		to[i] = times[i]
	}
	return nil
}

// settle makes the times of the newest update known.
func (x *executable) settle() {
	update := x.plan.Segments[nn.SegmentUpdate]
	copy(x.nanos[update[0]:update[1]], x.late[update[0]:update[1]])
}

func (x *executable) Settle(ctx context.Context) error {
	if x.backend.Hang != nil {
		x.backend.Hang()
		<-ctx.Done()
		return ctx.Err()
	}
	x.settle()
	return x.backend.Failure()
}

func (x *executable) Detail(on bool)            { x.detailed = on }
func (x *executable) StepNanos() []int64        { return x.nanos }
func (x *executable) Map(nn.BufferID) []float32 { return nil }

func (x *executable) Read(id nn.BufferID, dst []float32) {
	if err := x.backend.try("read"); err != nil {
		x.backend.pending = err
		return
	}
	x.Executable.Read(id, dst)
}

func (x *executable) Write(id nn.BufferID, src []float32) {
	if err := x.backend.try("write"); err != nil {
		x.backend.pending = err
		return
	}
	x.Executable.Write(id, src)
}
