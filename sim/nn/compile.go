package nn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prismtop/sim/tensor"
)

// Options configure what a plan does besides computing the graph's outputs.
type Options struct {
	// Train adds the update segment: gradients of the loss and Adam.
	Train bool

	// AMP is the type in which convolutions compute: BFloat16, Float16, or
	// Float32 for no mixed precision. Float16 brings the gradient scaler
	// (spec/prism.md §5.7).
	AMP tensor.DType

	// Products selects how convolutions multiply float32; with a 16-bit AMP it is
	// Exact.
	Products Products

	// Checkpointing keeps fewer results of the forward segment and recomputes
	// them in the backward pass: less memory, more time, the same numbers.
	Checkpointing bool

	// FusedOptimizer updates a convolution's weights while their gradient is
	// computed, without storing it. It has no effect on a plan with a gradient
	// scaler or with weight decay.
	FusedOptimizer bool

	// Factored keeps the gradient of weights between one pixel and an image as its two factors, see
	// Buffer.Factored; for backends that are Factoring. It has no effect on a plan with a gradient scaler or
	// with weight decay.
	Factored bool

	// GradientsOnly ends the update segment with the gradients, in the model's variables,
	// for a plan of the optimiser alone (CompileOptimizer).
	GradientsOnly bool

	// Adam's constants; the zero value means DefaultAdam, and zero constants with a
	// weight decay mean DefaultAdam's.
	Adam AdamOptions
}

// AdamOptions are the constants of Adam, see the operator.
type AdamOptions struct{ Beta1, Beta2, Eps, Decay float32 }

// DefaultAdam has PyTorch's constants (spec/prism.md §5.4).
var DefaultAdam = AdamOptions{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}

// orDefault replaces missing constants.
func (o AdamOptions) orDefault() AdamOptions {
	if decay := o.Decay; o == (AdamOptions{Decay: decay}) {
		o = DefaultAdam
		o.Decay = decay
	}
	return o
}

// Names of the outputs of a plan with a gradient scaler.
const (
	GradientScaleOutput = "gradient_scale" // the scale; after the update, the next one
	OverflowOutput      = "overflow"       // 1 when the last update was skipped, else 0
)

// Compile compiles the graph into a plan: the steps that its outputs and the loss
// need, in building order, those leading to EndForward's value first. Without
// Train the loss may be the zero Value.
//
// Errors name the layer: the first mistake made while building, an operator
// without a gradient between the loss and a parameter, a loss that no parameter
// reaches. A graph of thousands of layers takes long to compile; if ctx ends
// first, its error is returned.
func Compile(ctx context.Context, g *Graph, loss Value, o Options) (*Plan, error) {
	o.Adam = o.Adam.orDefault()
	if err := check(g, loss, o); err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	c, err := compileRuns(ctx, g, loss, o, runs{})
	if err != nil || !o.Train || !o.Checkpointing {
		return c.plan, err
	}
	return c.compileCheckpointed(ctx, loss)
}

// compileRuns makes a plan that recomputes some layers.
func compileRuns(ctx context.Context, g *Graph, loss Value, o Options, again runs) (*compiler, error) {
	c := newCompiler(g, o)
	c.nodes = g.fused(!o.Train && o.AMP != tensor.Float16 && o.Products == Exact)
	err := c.forward(ctx, loss)
	if err == nil && o.Train {
		c.dropped = c.checkpoint(again)
		err = c.update(ctx, c.buffers[loss.id])
	}
	if err == nil {
		c.plan.Segments[SegmentUpdate] = [2]int{c.plan.Segments[SegmentEvaluate][1], len(c.plan.Steps)}
		err = c.plan.planMemory(ctx)
	}
	if err != nil {
		return &compiler{}, fmt.Errorf("compile: %w", err)
	}
	return c, nil
}

// newCompiler returns the compiler of a graph, without its nodes.
func newCompiler(g *Graph, o Options) *compiler {
	return &compiler{
		graph:   g,
		options: o,
		plan:    &Plan{inputs: map[string]BufferID{}, outputs: map[string]BufferID{}},
		buffers: map[int]BufferID{},
		casts:   map[cast]BufferID{},
		names:   map[string]int{},
	}
}

func check(g *Graph, loss Value, o Options) error {
	switch {
	case g.err != nil:
		return g.err
	case o.AMP == tensor.Complex64:
		return errors.New("mixed precision in complex64")
	case o.Products > TF32:
		return fmt.Errorf("products of kind %d", o.Products)
	case o.AMP != tensor.Float32 && o.Products != Exact:
		return fmt.Errorf("%v products of %v operands", o.Products, o.AMP)
	case o.GradientsOnly && (o.AMP == tensor.Float16 || o.FusedOptimizer):
		return errors.New("gradients without an optimiser: not with a gradient scaler, nor with a fused optimizer")
	case loss.Exists() && loss.graph != g:
		return errors.New("the loss belongs to another graph")
	case loss.Exists() && len(loss.Shape()) != 0:
		return fmt.Errorf("the loss is not a scalar but %v", loss.Shape())
	case !loss.Exists() && o.Train:
		return errors.New("training needs a loss")
	case !loss.Exists() && len(g.outputs) == 0:
		return errors.New("the graph has neither outputs nor a loss")
	}
	return nil
}

// compiler is the state of one Compile.
type compiler struct {
	graph   *Graph
	nodes   []node // of the graph, some of them fused
	options Options
	plan    *Plan
	buffers map[int]BufferID // of the graph's values
	casts   map[cast]BufferID
	tape    []taped
	reached []bool // per buffer: a parameter is upstream
	names   map[string]int
	dropped checkpoints
}

// cast is a conversion made once per iteration.
type cast struct {
	from BufferID
	to   tensor.DType
}

// taped is a forward step as recorded for the backward pass.
type taped struct {
	op      operator
	in, out []BufferID
	layer   string
	results int // of out: those that receive gradients
}

// forward emits the steps of the graph.
func (c *compiler) forward(ctx context.Context, loss Value) error {
	g := c.graph
	roots := make([]int, 0, len(g.outputs)+1)
	for _, o := range g.outputs {
		roots = append(roots, o.value)
	}
	if loss.Exists() {
		roots = append(roots, loss.id)
	}
	live := g.upstream(roots)
	first := live
	if g.ended >= 0 {
		first = g.upstream([]int{g.ended})
	}
	if err := c.lowerAll(ctx, func(v int) bool { return live[v] && first[v] }); err != nil {
		return err
	}
	end := len(c.plan.Steps)
	c.plan.Segments[SegmentForward] = [2]int{0, end}
	if err := c.lowerAll(ctx, func(v int) bool { return live[v] && !first[v] }); err != nil {
		return err
	}
	c.plan.Segments[SegmentEvaluate] = [2]int{end, len(c.plan.Steps)}
	for _, o := range g.outputs {
		c.output(o.name, c.buffer(o.value))
	}
	return nil
}

// upstream marks the given values and those they are computed from.
func (g *Graph) upstream(roots []int) []bool {
	marked := make([]bool, len(g.values))
	for _, r := range roots {
		marked[r] = true
	}
	for i := len(g.nodes) - 1; i >= 0; i-- {
		n := g.nodes[i]
		for _, v := range n.more {
			marked[n.out] = marked[n.out] || marked[v]
		}
		if marked[n.out] {
			for _, v := range n.in {
				marked[v] = true
			}
		}
	}
	return marked
}

func (c *compiler) lowerAll(ctx context.Context, chosen func(value int) bool) error {
	for _, n := range c.nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if chosen(n.out) {
			c.lower(n)
		}
	}
	return nil
}

// lower emits one node, preceded by the conversions of mixed precision.
func (c *compiler) lower(n node) {
	in, specs := make([]BufferID, len(n.in)), make([]spec, len(n.in))
	for i, v := range n.in {
		in[i] = c.buffer(v)
		specs[i] = c.spec(in[i])
	}
	phase := stepPhase(n)
	for i := range in {
		rule := n.op.precision()
		if want := rule.operandType(specs, i, c.options.AMP); want != specs[i].dtype {
			what := "cast"
			if rule == reduced && i == 1 || rule == reducedAll && i == 0 {
				what = "weight cast"
			}
			in[i] = c.convert(in[i], want, n.layer, what, phase)
		}
	}
	for i := range in {
		specs[i] = c.spec(in[i])
	}
	results, err := n.op.infer(specs)
	if err != nil { // the graph inferred the same shapes
		panic(fmt.Sprintf("nn: %s: %v", n.layer, err))
	}
	name := c.name(n.layer, n.op.opName())
	out := make([]BufferID, len(results))
	for i, r := range results {
		if r.inPlace {
			out[i] = in[r.operand]
			continue
		}
		out[i] = c.allocate(Buffer{Name: name, Shape: r.shape, DType: r.dtype, Category: Activations, Variable: -1})
	}
	c.buffers[n.out] = out[0]
	for i, v := range n.more {
		c.buffers[v] = out[i+1]
	}
	c.record(name, n.op, phase, n.layer, in, out)
	for i := range n.more {
		c.reached[out[i+1]] = c.reached[out[0]]
	}
	c.tape[len(c.tape)-1].results += len(n.more)
	if op, ok := n.op.(interface{ shares() []MeasureShare }); ok {
		for _, share := range op.shares() {
			c.step(c.name(n.layer, share.opName()), share, share.Phase, nil, nil)
		}
	}
}

// convert casts a buffer, once per iteration for each type.
func (c *compiler) convert(from BufferID, to tensor.DType, layer, what string, phase Phase) BufferID {
	if id, done := c.casts[cast{from, to}]; done {
		return id
	}
	source := c.plan.Buffers[from]
	category := Activations
	if source.Variable >= 0 {
		category = Weights
	}
	name := c.name(layer, what)
	id := c.allocate(Buffer{Name: name, Shape: source.Shape, DType: to, Category: category, Variable: -1})
	c.casts[cast{from, to}] = id
	c.record(name, Cast{}, phase, layer, []BufferID{from}, []BufferID{id})
	return id
}

// record emits a forward step and records it on the tape.
func (c *compiler) record(name string, op operator, phase Phase, layer string, in, out []BufferID) {
	c.step(name, op, phase, in, out)
	c.tape = append(c.tape, taped{op, in, out, layer, 1})
	for _, x := range in {
		if c.reached[x] {
			c.reached[out[0]] = true
		}
	}
}

// stepPhase returns the phase of a node's time: operators that occur in one phase
// only belong to that phase, others to the one they were built in.
func stepPhase(n node) Phase {
	switch n.op.(type) {
	case FFT, MaskMultiply, ModulusFlip, Measure, Amplitudes, ProbeMultiply, Intensity:
		return PhaseTelescope
	case Loss, PoissonLoss, SquaredError, DiceBCE, WeightedSum, Element:
		return PhaseLoss
	}
	return n.phase
}

// buffer returns the buffer of a graph's value, and creates it if the value is a
// leaf.
func (c *compiler) buffer(v int) BufferID {
	if id, ok := c.buffers[v]; ok {
		return id
	}
	value := c.graph.values[v]
	if value.source == fromInput {
		c.buffers[v] = c.input(value.name, value.spec)
	} else {
		c.buffers[v] = c.variable(value.variable)
		c.reached[c.buffers[v]] = value.source == fromParameter
	}
	return c.buffers[v]
}

func (c *compiler) input(name string, s spec) BufferID {
	id := c.allocate(Buffer{Name: name, Shape: s.shape, DType: s.dtype, Category: Inputs, Variable: -1, Pinned: true})
	c.plan.inputs[name] = id
	return id
}

func (c *compiler) output(name string, id BufferID) {
	c.plan.Buffers[id].Pinned = true
	c.plan.outputs[name] = id
}

// variable returns a buffer for a variable of the model.
func (c *compiler) variable(i int) BufferID {
	v := c.graph.model.variables[i]
	return c.allocate(Buffer{Name: v.Name, Shape: v.Shape, Category: v.Category, Variable: i})
}

func (c *compiler) allocate(b Buffer) BufferID {
	c.plan.Buffers = append(c.plan.Buffers, b)
	c.reached = append(c.reached, false)
	return BufferID(len(c.plan.Buffers) - 1)
}

// step appends a step with its cost, preceded by steps that recompute dropped
// operands.
func (c *compiler) step(name string, op Op, phase Phase, in, out []BufferID) {
	in = c.recallAll(in)
	s := Step{Name: name, Op: op, Phase: phase, In: in, Out: out}
	if k, ok := op.(sized); ok {
		s.Op = k.kernel()
	}
	switch op.(type) {
	case Conv2D, Conv2DGradInput, Conv2DGradWeight, ConvTranspose2D, ConvTranspose2DGradInput,
		ConvTranspose2DGradWeight, ConvAdam,
		Conv3D, Conv3DGradInput, Conv3DGradWeight:
		s.Products = c.options.Products
	}
	s.FLOPs = op.flops(c.plan.specs(in), c.plan.specs(out))
	for _, id := range slices.Concat(in, out) {
		s.Bytes += c.plan.Buffers[id].Stored()
	}
	c.plan.Steps = append(c.plan.Steps, s)
}

func (c *compiler) spec(id BufferID) spec {
	b := &c.plan.Buffers[id]
	return spec{b.Shape, b.DType}
}

// name returns the step name "layer what", numbered from its second use on.
func (c *compiler) name(layer, what string) string {
	name := what
	if layer != "" {
		name = layer + " " + what
	}
	c.names[name]++
	if n := c.names[name]; n > 1 {
		return fmt.Sprintf("%s %d", name, n)
	}
	return name
}
