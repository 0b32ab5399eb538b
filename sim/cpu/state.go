package cpu

import (
	"fmt"

	"prismtop/sim/nn"
)

// state holds a model's variables, all float32, one after the other in a slab.
type state struct {
	variables []nn.Variable
	values    [][]float32
}

// NewState allocates the variables and sets them to their initial values.
// Initial values of another length than the variable's are an error.
func (b *Backend) NewState(variables []nn.Variable) (nn.State, error) {
	offsets, size := make([]int64, len(variables)), int64(0)
	for i, v := range variables {
		n := v.Shape.Elements()
		if v.Initial != nil && len(v.Initial) != n {
			return nil, fmt.Errorf("variable %q: %d initial values for shape %v", v.Name, len(v.Initial), v.Shape)
		}
		offsets[i] = size
		size += roundUp(4 * int64(n))
	}
	memory := newSlab(size)
	s := &state{variables: variables, values: make([][]float32, len(variables))}
	for i, v := range variables {
		s.values[i] = cut[float32](&memory, offsets[i], v.Shape.Elements())
		s.Reset(i)
	}
	return s, nil
}

// Read copies variable v to dst. It panics when dst has another length.
func (s *state) Read(v int, dst []float32) {
	mustCopy(s.variables[v].Name, dst, s.values[v])
}

// Write copies src to variable v. It panics when src has another length.
func (s *state) Write(v int, src []float32) {
	mustCopy(s.variables[v].Name, s.values[v], src)
}

// Reset sets variable v back to its initial values.
func (s *state) Reset(v int) {
	if initial := s.variables[v].Initial; initial != nil {
		copy(s.values[v], initial)
	} else {
		clear(s.values[v])
	}
}

// Close drops the memory.
func (s *state) Close() { s.values = nil }

func mustCopy(name string, dst, src []float32) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("cpu: %q: copy of %d elements to %d", name, len(src), len(dst)))
	}
	copy(dst, src)
}
