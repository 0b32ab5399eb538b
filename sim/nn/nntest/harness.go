// Package nntest is the conformance suite of backends. Run checks all operators
// against plain float64 loops over odd shapes, strides, paddings and element
// types, and that results do not depend on the number of threads. Step runs one
// operator on given arrays.
package nntest

import (
	"context"
	"fmt"
	"math"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Array is an operand: float32 values, one per element, two (real and imaginary
// part) per element of a complex64 array.
type Array struct {
	Shape  tensor.Shape
	DType  tensor.DType
	Values []float32
}

// Result describes an output: a new array of a shape and type, or the buffer of an
// input, updated in place.
type Result struct {
	Shape   tensor.Shape
	DType   tensor.DType
	InPlace bool
	Input   int // the input, if InPlace
}

// A Step is a loaded plan of one step.
type Step struct {
	Plan *nn.Plan
	Exec nn.Executable

	state nn.State
	in    []Array
	steps nn.Step
}

// NewStep loads a plan of one step, or returns the backend's error.
func NewStep(be nn.Backend, op nn.Op, in []Array, out []Result) (*Step, error) {
	return NewProductStep(be, op, nn.Exact, in, out)
}

// OneStep returns a plan of one step.
func OneStep(op nn.Op, products nn.Products, in []Array, out []Result) *nn.Plan {
	p := &nn.Plan{}
	add := func(name string, shape tensor.Shape, d tensor.DType) nn.BufferID {
		b := nn.Buffer{Name: name, Shape: shape, DType: d, Variable: -1, Offset: p.ArenaBytes, Pinned: true}
		p.ArenaBytes += (b.Bytes() + 63) &^ 63
		p.Buffers = append(p.Buffers, b)
		return nn.BufferID(len(p.Buffers) - 1)
	}
	s := nn.Step{Name: fmt.Sprintf("%T", op), Op: op, Products: products}
	for i, a := range in {
		s.In = append(s.In, add(fmt.Sprintf("in %d", i), a.Shape, a.DType))
	}
	for i, r := range out {
		if r.InPlace {
			s.Out = append(s.Out, s.In[r.Input])
		} else {
			s.Out = append(s.Out, add(fmt.Sprintf("out %d", i), r.Shape, r.DType))
		}
	}
	p.Steps = []nn.Step{s}
	for i := range p.Segments {
		p.Segments[i] = [2]int{1, 1}
	}
	p.Segments[nn.SegmentForward] = [2]int{0, 1}
	return p
}

// NewProductStep is NewStep for a convolution with the given kind of products.
func NewProductStep(be nn.Backend, op nn.Op, products nn.Products, in []Array, out []Result) (*Step, error) {
	p := OneStep(op, products, in, out)
	state, err := be.NewState(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	exec, err := be.Load(context.Background(), p, state)
	if err != nil {
		state.Close()
		return nil, err
	}
	return &Step{Plan: p, Exec: exec, state: state, in: in, steps: p.Steps[0]}, nil
}

// Close frees the memory.
func (s *Step) Close() {
	s.Exec.Close()
	s.state.Close()
}

// Run writes the inputs, fills the outputs with NaN, runs the step and returns the
// outputs.
func (s *Step) Run() ([][]float32, error) {
	for _, id := range s.steps.Out {
		s.Exec.Write(id, filled(s.floats(id), float32(math.NaN())))
	}
	for i, a := range s.in {
		s.Exec.Write(s.steps.In[i], a.Values)
	}
	if err := s.Exec.Run(context.Background(), nn.SegmentForward); err != nil {
		return nil, err
	}
	out := make([][]float32, len(s.steps.Out))
	for i, id := range s.steps.Out {
		out[i] = make([]float32, s.floats(id))
		s.Exec.Read(id, out[i])
	}
	return out, nil
}

func (s *Step) floats(id nn.BufferID) int {
	return floatsOf(s.Plan.Buffers[id].Shape, s.Plan.Buffers[id].DType)
}

func floatsOf(shape tensor.Shape, d tensor.DType) int {
	if d == tensor.Complex64 {
		return 2 * shape.Elements()
	}
	return shape.Elements()
}

func filled(n int, v float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = v
	}
	return x
}

// Apply runs one operator and returns its outputs; any error ends the test.
func Apply(t testing.TB, be nn.Backend, op nn.Op, in []Array, out ...Result) [][]float32 {
	t.Helper()
	s, err := NewStep(be, op, in, out)
	if err != nil {
		t.Fatalf("load %T: %v", op, err)
	}
	defer s.Close()
	values, err := s.Run()
	if err != nil {
		t.Fatalf("run %T: %v", op, err)
	}
	return values
}
