package cpu

import (
	"context"
	"fmt"
	"slices"

	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/elements"
	"prismtop/sim/nn"
)

// The variables of a model with their gradients, and their copies in bfloat16.

// state holds a model's variables, all float32, one after the other in a slab. Each
// gradient is allocated separately, and only while it has users.
type state struct {
	pool      *pool.Pool
	variables []nn.Variable
	values    [][]float32
	users     []int // per gradient: number of loaded plans that store it
	changes   []int // per variable: how often it was written
	copies    []*copied
	factors   map[int]*factors // of the gradients that are kept as factors
}

// factors are an outer product: row s is small[s]·large.
type factors struct{ small, large []float32 }

// copied are a variable's values in bfloat16, beside the buffers that plans have for them. Plans that
// read them share them, and their optimiser writes them with the variable, while it is in the cache.
type copied struct {
	values []uint16
	seen   int  // changes of the variable that they follow; -1 while they are written
	fresh  bool // written with the variable in the current segment
	users  int  // loaded plans that read them
}

// leaveCopy drops the copy of variable v if no other plan reads it.
func (s *state) leaveCopy(v int) {
	if s.copies == nil || s.copies[v] == nil {
		return
	}
	if s.copies[v].users--; s.copies[v].users == 0 {
		s.copies[v] = nil
	}
}

// NewState allocates the variables and sets them to their initial values.
// It is an error if initial values differ from the variable in length.
func (b *Backend) NewState(ctx context.Context, variables []nn.Variable) (nn.State, error) {
	offsets, size := make([]int64, len(variables)), int64(0)
	for i, v := range variables {
		n := v.Shape.Elements()
		if v.Initial != nil && len(v.Initial) != n {
			return nil, fmt.Errorf("variable %q: %d initial values for shape %v", v.Name, len(v.Initial), v.Shape)
		}
		if offsets[i] = size; v.Category != nn.Gradients {
			size += roundUp(4 * int64(n))
		}
	}
	memory, err := newSlabWithin(ctx, size)
	if err != nil {
		return nil, err
	}
	s := &state{pool: b.pool, variables: slices.Clone(variables), values: make([][]float32, len(variables)),
		users: make([]int, len(variables)), changes: make([]int, len(variables)),
		copies: make([]*copied, len(variables)), factors: map[int]*factors{}}
	for i, v := range variables {
		if v.Category != nn.Gradients {
			s.values[i] = cut[float32](&memory, offsets[i], v.Shape.Elements())
			if err := s.over(ctx, len(v.Initial),
				func(lo, hi int) { copy(s.values[i][lo:hi], v.Initial[lo:hi]) }); err != nil {
				return nil, err
			}
		}
		s.variables[i].Initial = nil // as large as the weights, and no longer needed
	}
	return s, nil
}

// use returns variable v for a plan, to be released later.
func (s *state) use(ctx context.Context, v int) ([]float32, error) {
	if s.variables[v].Category == nn.Gradients {
		if err := s.allocate(ctx, v); err != nil {
			return nil, err
		}
		s.users[v]++
	}
	return s.values[v], nil
}

// release gives back a variable returned by use.
func (s *state) release(v int) {
	if s.variables[v].Category != nn.Gradients || s.values == nil {
		return
	}
	if s.users[v]--; s.users[v] == 0 {
		s.values[v] = nil
	}
}

// allocate allocates a gradient that has no memory yet.
func (s *state) allocate(ctx context.Context, v int) error {
	if s.values[v] == nil {
		n := s.variables[v].Shape.Elements()
		memory, err := newSlabWithin(ctx, 4*int64(n))
		if err != nil {
			return err
		}
		s.values[v] = cut[float32](&memory, 0, n)
	}
	return nil
}

// Read copies variable v to dst. It panics if dst has another length.
func (s *state) Read(v int, dst []float32) {
	if f := s.factors[v]; f != nil && len(dst) == s.variables[v].Shape.Elements() {
		for i, x := range f.small {
			elements.Scale(vec.Go, dst[i*len(f.large):][:len(f.large)], f.large, x)
		}
		return
	}
	if s.values[v] == nil && len(dst) == s.variables[v].Shape.Elements() {
		clear(dst)
		return
	}
	mustCopy(s.variables[v].Name, dst, s.values[v])
}

// Write copies src to variable v. It panics if src has another length. A gradient
// that was written is kept.
func (s *state) Write(v int, src []float32) {
	if s.values[v] == nil {
		s.users[v]++
		_ = s.allocate(context.Background(), v) // which never ends
	}
	mustCopy(s.variables[v].Name, s.values[v], src)
	s.changes[v]++
	delete(s.factors, v)
}

// Zero sets variable v to zeros.
func (s *state) Zero(ctx context.Context, v int) error {
	s.changes[v]++
	delete(s.factors, v)
	return s.over(ctx, len(s.values[v]), func(lo, hi int) { clear(s.values[v][lo:hi]) })
}

// over runs body over [0, n) on the pool, unless ctx ends.
func (s *state) over(ctx context.Context, n int, body func(lo, hi int)) error {
	defer s.pool.Attach(s.pool.Attach(ctx))
	s.pool.For(n, grain, body)
	return ctx.Err()
}

// Close drops the memory.
func (s *state) Close() { s.values, s.copies, s.factors = nil, nil, nil }

func mustCopy(name string, dst, src []float32) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("cpu: %q: copy of %d elements to %d", name, len(src), len(dst)))
	}
	copy(dst, src)
}
