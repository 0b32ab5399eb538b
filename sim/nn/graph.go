package nn

import (
	"errors"
	"fmt"

	"prismtop/sim/tensor"
)

// A Graph is a network, the measurements of its output, and the losses. Its
// builder methods return Values and never fail; the first mistake, with the name
// of the layer that made it, is what Compile returns.
type Graph struct {
	model   *Model
	values  []value
	nodes   []node
	outputs []output
	leaves  map[leafName]int // values not computed by a node
	ended   int              // value that ends the forward segment, −1 for none
	layer   string
	phase   Phase
	err     error
}

// Value is a result in a graph. The zero Value means none, such as a missing
// bias.
type Value struct {
	graph *Graph
	id    int
}

// value is the graph's description of a Value.
type value struct {
	spec
	name      string
	source    source
	variable  int        // of parameters and statistics
	parameter *parameter // of parameters
}

// source is the origin of a value.
type source uint8

const (
	fromNode source = iota
	fromInput
	fromParameter
	fromStatistic
)

// node is one operator applied in a graph.
type node struct {
	op    operator
	in    []int
	out   int
	more  []int // further results used by the graph
	layer string
	phase Phase
}

type output struct {
	name  string
	value int
}

// NewGraph starts a graph whose parameters are declared in the model.
func NewGraph(m *Model) *Graph { return &Graph{model: m, leaves: map[leafName]int{}, ended: -1} }

// Model returns the model of the graph's parameters.
func (g *Graph) Model() *Model { return g.model }

// Err returns the first mistake made while building, or nil.
func (g *Graph) Err() error { return g.err }

// Layer names the operators added next, for step names and errors, and sets the
// phase of an iteration to which their time belongs.
func (g *Graph) Layer(name string, phase Phase) { g.layer, g.phase = name, phase }

// Shape returns the value's shape; nil for the zero Value.
func (v Value) Shape() tensor.Shape {
	if v.graph == nil {
		return nil
	}
	return v.graph.values[v.id].shape
}

// Exists reports whether v is not the zero Value.
func (v Value) Exists() bool { return v.graph != nil }

// Parameter declares a trainable array, or returns it if the model has it
// already.
func (g *Graph) Parameter(name string, shape tensor.Shape, init Init) Value {
	p, err := g.model.parameter(name, shape, init)
	if err != nil {
		return g.fail(err)
	}
	return g.leaf(value{spec: spec{shape, tensor.Float32}, name: name, source: fromParameter, variable: p.value,
		parameter: p})
}

// Statistic declares an array of the model that the network itself updates, such
// as the running mean of a BatchNorm; it gets no gradient.
func (g *Graph) Statistic(name string, shape tensor.Shape, init Init) Value {
	i, err := g.model.statistic(name, shape, init)
	if err != nil {
		return g.fail(err)
	}
	return g.leaf(value{spec: spec{shape, tensor.Float32}, name: name, source: fromStatistic, variable: i})
}

// Input declares a float32 array that the caller writes: a mask, a target. Calls
// with the same name return the same input.
func (g *Graph) Input(name string, shape tensor.Shape) Value {
	return g.InputOf(name, shape, tensor.Float32)
}

// InputOf is Input of an array of another type, such as another plan's output (Copier).
func (g *Graph) InputOf(name string, shape tensor.Shape, d tensor.DType) Value {
	if name == LearningRateInput {
		return g.fail(fmt.Errorf("input %q: the name is the optimiser's", name))
	}
	return g.leaf(value{spec: spec{shape, d}, name: name, source: fromInput})
}

// Output names a value for the caller to read: it keeps its memory for the whole
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
// the steps leading to it, the evaluate segment the rest. Without EndForward
// everything before the gradients is in the forward segment.
func (g *Graph) EndForward(v Value) {
	if id, ok := g.use(v); ok {
		g.ended = id
	}
}

// leafName identifies a leaf.
type leafName struct {
	source source
	name   string
}

// leaf adds a value not computed by a node, once per name.
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

// apply adds an operator on operands; the zero Value is allowed only as the last
// operand, and is left out.
func (g *Graph) apply(op operator, in ...Value) Value { return g.applyAll(op, 1, in...)[0] }

// applyAll is apply for an operator whose first count results all become values.
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

// fail records the first error and returns the zero Value.
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
