package verify

import (
	"context"
	"fmt"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// script is a hand-written plan: a few kernels on given operands, with no shared
// buffers.
type script struct {
	plan   nn.Plan
	inputs []operand
}

type operand struct {
	id     nn.BufferID
	values []float32
}

// result adds a buffer for a kernel's output.
func (s *script) result(dtype tensor.DType, shape ...int) nn.BufferID {
	b := nn.Buffer{
		Name: "operand", Shape: shape, DType: dtype,
		Category: nn.Activations, Variable: -1, Offset: s.plan.ArenaBytes, Pinned: true,
	}
	s.plan.Buffers = append(s.plan.Buffers, b)
	const align = 64
	s.plan.ArenaBytes += (b.Bytes() + align - 1) / align * align
	return nn.BufferID(len(s.plan.Buffers) - 1)
}

// like adds a result of an array's shape in float32, or complex64 if the array is
// complex.
func (s *script) like(a *array) nn.BufferID {
	if a.complex {
		return s.result(tensor.Complex64, a.shape...)
	}
	return s.result(tensor.Float32, a.shape...)
}

// operand adds a buffer that holds an array of the file.
func (s *script) operand(a *array) nn.BufferID {
	id := s.like(a)
	s.inputs = append(s.inputs, operand{id, a.float32s()})
	return id
}

// scalar adds a buffer that holds one number.
func (s *script) scalar(v float32) nn.BufferID {
	id := s.result(tensor.Float32)
	s.inputs = append(s.inputs, operand{id, []float32{v}})
	return id
}

// step adds a kernel call.
func (s *script) step(op nn.Op, in []nn.BufferID, out ...nn.BufferID) {
	s.plan.Steps = append(s.plan.Steps, nn.Step{Name: "reference", Op: op, Phase: nn.PhaseForward, In: in, Out: out})
}

// load loads the script and writes its operands.
func (s *script) load(backend device) (*session, error) {
	n := len(s.plan.Steps)
	s.plan.Segments = [nn.NumSegments][2]int{{0, n}, {n, n}, {n, n}}
	state, err := backend.NewState(backend.ctx, nil)
	if err != nil {
		return nil, err
	}
	session, err := backend.session(&s.plan, state)
	if err != nil {
		state.Close()
		return nil, err
	}
	for _, o := range s.inputs {
		session.executable.Write(o.id, o.values)
	}
	return session, nil
}

// run loads the script, runs it once and returns the given results.
func (s *script) run(backend device, results ...nn.BufferID) ([][]float32, error) {
	session, err := s.load(backend)
	if err != nil {
		return nil, err
	}
	defer session.close()
	if err := session.run(nn.SegmentForward); err != nil {
		return nil, err
	}
	values := make([][]float32, len(results))
	for i, id := range results {
		values[i] = session.read(id)
	}
	return values, nil
}

// session is a plan loaded on a state, of a script or of a network.
type session struct {
	ctx        context.Context
	plan       *nn.Plan
	executable nn.Executable
	state      nn.State
}

// session loads a plan on a state.
func (d device) session(plan *nn.Plan, state nn.State) (*session, error) {
	executable, err := d.Load(d.ctx, plan, state)
	if err != nil {
		return nil, err
	}
	return &session{d.ctx, plan, executable, state}, nil
}

// fresh returns a state with a model's initial values.
func (d device) fresh(m *nn.Model) (nn.State, error) {
	variables, err := m.InitialVariables(d.ctx)
	if err != nil {
		return nil, err
	}
	return d.NewState(d.ctx, variables)
}

func (s *session) run(segments ...nn.Segment) error {
	for _, segment := range segments {
		if err := s.executable.Run(s.ctx, segment); err != nil {
			return err
		}
	}
	return nil
}

// write sets an input, if the plan has it.
func (s *session) write(input string, values []float32) {
	if id, ok := s.plan.Input(input); ok {
		s.executable.Write(id, values)
	}
}

// output reads an output of the plan.
func (s *session) output(name string) ([]float32, error) {
	id, ok := s.plan.Output(name)
	if !ok {
		return nil, fmt.Errorf("the plan has no output %q", name)
	}
	return s.read(id), nil
}

func (s *session) read(id nn.BufferID) []float32 { return readBuffer(s.plan, s.executable, id) }

func (s *session) close() {
	s.executable.Close()
	s.state.Close()
}

// readBuffer reads a buffer; complex numbers yield two values each.
func readBuffer(plan *nn.Plan, executable nn.Executable, id nn.BufferID) []float32 {
	b := &plan.Buffers[id]
	n := b.Shape.Elements()
	if b.DType == tensor.Complex64 {
		n *= 2
	}
	values := make([]float32, n)
	executable.Read(id, values)
	return values
}
