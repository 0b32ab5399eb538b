package cuda

import (
	"context"
	"fmt"
	"slices"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
)

// state holds a model's variables on the device, all float32. The gradients are a slab of their own, which exists only
// while a loaded plan stores some.
type state struct {
	backend   *Backend
	variables []nn.Variable
	offsets   []int64 // in the slab of the variable's kind
	values    slab
	gradients slab // users counts the loaded plans that store gradients
	size      int64
	closed    bool
}

func (b *Backend) newState(ctx context.Context, variables []nn.Variable) (*state, error) {
	s := &state{backend: b, variables: slices.Clone(variables), offsets: make([]int64, len(variables))}
	var size int64
	for i, v := range variables {
		n := v.Shape.Elements()
		if v.Initial != nil && len(v.Initial) != n {
			return nil, fmt.Errorf("variable %q: %d initial values for shape %v", v.Name, len(v.Initial), v.Shape)
		}
		of := &size
		if v.Category == nn.Gradients {
			of = &s.size
		}
		s.offsets[i] = *of
		*of += roundUp(4 * int64(n))
	}
	if err := b.enter(); err != nil {
		return nil, err
	}
	defer b.leave()
	if size > 0 {
		at, err := b.allocate(size, "the weights and their moments")
		if err != nil {
			return nil, err
		}
		s.values = slab{at: at, bytes: size}
		if err := b.check("clearing the weights", b.driver.MemsetD8Async(at, 0, size, b.stream)); err != nil {
			b.free(at, size)
			return nil, err
		}
	}
	for i, v := range variables {
		err := ctx.Err()
		if err == nil && v.Initial != nil && v.Category != nn.Gradients {
			err = b.upload(s.at(i), bytesOf(v.Initial))
		}
		if err != nil {
			b.free(s.values.at, size)
			return nil, err
		}
		s.variables[i].Initial = nil // as large as the weights, and no longer needed
	}
	return s, nil
}

// at returns the address of variable v, 0 for a gradient without memory.
func (s *state) at(v int) driver.Pointer {
	of := &s.values
	if s.variables[v].Category == nn.Gradients {
		of = &s.gradients
	}
	if of.at == 0 || of == &s.gradients && of.users == 0 {
		return 0
	}
	return of.at + driver.Pointer(s.offsets[v])
}

// useGradients allocates the gradients, as zeros, for a plan that stores some.
func (s *state) useGradients() error {
	b, g := s.backend, &s.gradients
	if g.at == 0 && s.size > 0 {
		at, err := b.allocate(s.size, "the gradients")
		if err != nil {
			return err
		}
		g.at, g.bytes = at, s.size
	}
	if g.users == 0 && g.at != 0 {
		if err := b.check("clearing the gradients", b.driver.MemsetD8Async(g.at, 0, s.size, b.stream)); err != nil {
			g.release(b)
			return err
		}
	}
	g.use(s.size)
	return nil
}

// leaveGradients ends useGradients.
func (s *state) leaveGradients() {
	s.gradients.leave()
	s.gradients.release(s.backend)
}

// Read copies variable v to dst. It panics if dst has another length. After the device is lost dst is left alone: the
// next Run returns the error.
func (s *state) Read(v int, dst []float32) {
	s.must(v, dst)
	b := s.backend
	if s.at(v) == 0 {
		clear(dst)
		return
	}
	if err := b.enter(); err != nil {
		b.remember(err)
		return
	}
	defer b.leave()
	b.remember(b.download(bytesOf(dst), s.at(v), b.stream))
}

// Write copies src to variable v. It panics if src has another length. A gradient that was written is kept.
func (s *state) Write(v int, src []float32) {
	s.must(v, src)
	b := s.backend
	if err := b.enter(); err != nil {
		b.remember(err)
		return
	}
	defer b.leave()
	if s.at(v) == 0 {
		if err := s.useGradients(); err != nil {
			b.remember(err)
			return
		}
	}
	b.remember(b.upload(s.at(v), bytesOf(src)))
}

// Zero sets variable v to zeros.
func (s *state) Zero(ctx context.Context, v int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at, b := s.at(v), s.backend
	if at == 0 {
		return nil
	}
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	return b.check("clearing "+s.variables[v].Name,
		b.driver.MemsetD8Async(at, 0, 4*int64(s.variables[v].Shape.Elements()), b.stream))
}

func (s *state) must(v int, x []float32) {
	if n := s.variables[v].Shape.Elements(); len(x) != n {
		panic(fmt.Sprintf("cuda: %q: copy of %d numbers, it has %d", s.variables[v].Name, len(x), n))
	}
}

// Close frees the memory.
func (s *state) Close() {
	if s.closed {
		return
	}
	s.closed = true
	b := s.backend
	if err := b.enter(); err != nil {
		b.remember(err)
	} else {
		defer b.leave()
	}
	b.forget(s, func(*executable) bool { return true })
	b.free(s.values.at, s.values.bytes)
	b.free(s.gradients.at, s.gradients.bytes)
	s.values, s.gradients = slab{}, slab{}
}

// remember keeps an error of a method that returns none, for the next one that does.
func (b *Backend) remember(err error) {
	if err != nil && b.pending == nil {
		b.pending = err
	}
}
