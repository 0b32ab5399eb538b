package nn

import (
	"errors"
	"fmt"

	"prismtop/sim/tensor"
)

// A Graph is a network, what is measured from its output, and the losses. Its
// builder methods return Values and never fail; the first mistake, with the name
// of the layer that made it, is what Compile returns.
type Graph struct {
	model   *Model
	values  []value
	nodes   []node
	outputs []output
	leaves  map[leafName]int // values that no node computes
	ended   int              // value that ends the forward segment, −1 for none
	layer   string
	phase   Phase
	err     error
}

// Value is a result in a graph. The zero Value is none: it stands for a bias
// that a layer does not have.
type Value struct {
	graph *Graph
	id    int
}

// value is what a graph knows of a Value.
type value struct {
	spec
	name      string
	source    source
	variable  int        // of parameters and statistics
	parameter *parameter // of parameters
}

// source says where a value comes from.
type source uint8

const (
	fromNode source = iota
	fromInput
	fromParameter
	fromStatistic
)

// node is one operator at its place.
type node struct {
	op    operator
	in    []int
	out   int
	more  []int // further results that the graph has a use for
	layer string
	phase Phase
}

type output struct {
	name  string
	value int
}

// NewGraph begins a graph whose parameters are declared in the model.
func NewGraph(m *Model) *Graph { return &Graph{model: m, leaves: map[leafName]int{}, ended: -1} }

// Model is the model that the graph's parameters belong to.
func (g *Graph) Model() *Model { return g.model }

// Err is the first mistake made while building, or nil.
func (g *Graph) Err() error { return g.err }

// Layer names the operators that are added next, for step names and errors, and
// says which phase of an iteration their time belongs to.
func (g *Graph) Layer(name string, phase Phase) { g.layer, g.phase = name, phase }

// Shape is the value's shape; nil for none.
func (v Value) Shape() tensor.Shape {
	if v.graph == nil {
		return nil
	}
	return v.graph.values[v.id].shape
}

// Exists tells a value from none.
func (v Value) Exists() bool { return v.graph != nil }

// Parameter declares a trainable array, or finds it when the model has it.
func (g *Graph) Parameter(name string, shape tensor.Shape, init Init) Value {
	p, err := g.model.parameter(name, shape, init)
	if err != nil {
		return g.fail(err)
	}
	return g.leaf(value{spec: spec{shape, tensor.Float32}, name: name, source: fromParameter, variable: p.value, parameter: p})
}

// Statistic declares an array of the model that the network keeps up to date by
// itself, as the running mean of a BatchNorm; no gradient reaches it.
func (g *Graph) Statistic(name string, shape tensor.Shape, init Init) Value {
	i, err := g.model.statistic(name, shape, init)
	if err != nil {
		return g.fail(err)
	}
	return g.leaf(value{spec: spec{shape, tensor.Float32}, name: name, source: fromStatistic, variable: i})
}

// Input declares a float32 array that the caller writes: a mask, a target. A
// name stands for one input of the graph, however often it is asked for.
func (g *Graph) Input(name string, shape tensor.Shape) Value {
	if name == LearningRateInput {
		return g.fail(fmt.Errorf("input %q: the name is the optimiser's", name))
	}
	return g.leaf(value{spec: spec{shape, tensor.Float32}, name: name, source: fromInput})
}

// Output names a value that the caller reads: it keeps its memory for the whole
// plan. A value may have several names.
func (g *Graph) Output(name string, v Value) {
	if id, ok := g.use(v); ok {
		for _, o := range g.outputs {
			if o.name == name {
				g.fail(fmt.Errorf("output %q is named twice", name))
				return
			}
		}
		g.outputs = append(g.outputs, output{name, id})
	}
}

// EndForward marks the network's output: the forward segment of the plans holds
// what leads to it, the evaluate segment the rest. Without a mark everything
// before the gradients is in the forward segment.
func (g *Graph) EndForward(v Value) {
	if id, ok := g.use(v); ok {
		g.ended = id
	}
}

// leafName is what a leaf is known by.
type leafName struct {
	source source
	name   string
}

// leaf adds a value that no node computes, once per name.
func (g *Graph) leaf(v value) Value {
	key := leafName{v.source, v.name}
	if id, known := g.leaves[key]; known {
		if have := g.values[id]; !have.shape.Equal(v.shape) {
			return g.fail(fmt.Errorf("%q has shape %v, not %v", v.name, have.shape, v.shape))
		}
		return Value{g, id}
	}
	added := g.add(v)
	g.leaves[key] = added.id
	return added
}

// add adds a value.
func (g *Graph) add(v value) Value {
	g.values = append(g.values, v)
	return Value{g, len(g.values) - 1}
}

// apply adds an operator on operands; a zero Value is only allowed, and left
// out, as the last operand.
func (g *Graph) apply(op operator, in ...Value) Value { return g.applyAll(op, 1, in...)[0] }

// applyAll is apply of an operator whose first count results are all values.
func (g *Graph) applyAll(op operator, count int, in ...Value) []Value {
	none := make([]Value, count)
	if g.err != nil {
		return none
	}
	if n := len(in); n > 0 && !in[n-1].Exists() {
		in = in[:n-1]
	}
	ids, specs := make([]int, len(in)), make([]spec, len(in))
	for i, v := range in {
		id, ok := g.use(v)
		if !ok {
			return none
		}
		ids[i], specs[i] = id, g.values[id].spec
	}
	results, err := op.infer(specs)
	if err != nil {
		g.fail(fmt.Errorf("%s %w", op.opName(), err))
		return none
	}
	n, out := node{op: op, in: ids, layer: g.layer, phase: g.phase}, none
	for i := range out {
		out[i] = g.add(value{spec: results[i].spec, name: g.stepName(op)})
		if i > 0 {
			n.more = append(n.more, out[i].id)
		}
	}
	n.out = out[0].id
	g.nodes = append(g.nodes, n)
	return out
}

// use checks that an operand is a value of this graph.
func (g *Graph) use(v Value) (int, bool) {
	switch {
	case g.err != nil:
		return 0, false
	case v.graph == nil:
		g.fail(errors.New("an operand is missing"))
		return 0, false
	case v.graph != g:
		g.fail(errors.New("an operand belongs to another graph"))
		return 0, false
	}
	return v.id, true
}

// fail keeps the first error and returns no value.
func (g *Graph) fail(err error) Value {
	if g.err == nil {
		if g.layer != "" {
			err = fmt.Errorf("%s: %w", g.layer, err)
		}
		g.err = err
	}
	return Value{}
}

func (g *Graph) stepName(op Op) string {
	if g.layer == "" {
		return op.opName()
	}
	return g.layer + " " + op.opName()
}
