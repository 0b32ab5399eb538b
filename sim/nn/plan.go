package nn

import (
	"prismtop/sim/tensor"
)

// A Plan is a compiled graph: an ordered list of steps over buffers at fixed
// offsets. It is plain data; a Backend turns it into an Executable.
type Plan struct {
	Steps   []Step
	Buffers []Buffer

	// ArenaBytes is the size of the memory for all buffers that live only within
	// the plan (Buffer.Variable < 0).
	ArenaBytes int64

	// Segments[s] is the half-open range of steps that belong to Segment s.
	Segments [NumSegments][2]int

	inputs, outputs map[string]BufferID
}

// A Segment is a separately run part of an iteration: the stop rule checks the
// losses before paying for the update.
type Segment uint8

// The segments, in order. Forward ends with the network's output, Evaluate
// with the losses, Update with the new parameters.
const (
	SegmentForward Segment = iota
	SegmentEvaluate
	SegmentUpdate
	NumSegments
)

// BufferID is an index into Plan.Buffers.
type BufferID int

// Buffer is an array of a plan.
type Buffer struct {
	Name     string
	Shape    tensor.Shape
	DType    tensor.DType
	Category Category

	// Variable is the index of the buffer's Variable, whose memory outlives the
	// plan, or -1 if the buffer lives in the plan's arena.
	Variable int

	// Offset is the buffer's offset in the arena in bytes, a multiple of 64.
	Offset int64

	// Factored is a gradient that is an outer product, of the step's one-pixel image and the gradient of its result:
	// a backend may keep these two, for Adam and State.Read to multiply. See Options.Factored.
	Factored bool

	// Pinned buffers (inputs and named outputs) keep their memory for the whole
	// plan; the others share theirs with buffers that are never alive at the same
	// time.
	Pinned bool
}

// Bytes returns the size of the buffer.
func (b *Buffer) Bytes() int64 { return int64(b.Shape.Elements()) * b.DType.Size() }

// Stored returns the size of what is kept of the buffer: of its factors if it is Factored.
func (b *Buffer) Stored() int64 {
	if !b.Factored {
		return b.Bytes()
	}
	rows := b.Shape[0]
	return int64(rows+b.Shape.Elements()/rows) * b.DType.Size()
}

// Phase is the part of an iteration to which a step belongs, for timing. A graph's layers
// set the phase of their forward steps; the compiler sets that of the rest.
type Phase uint8

// The phases, in the order in which an iteration runs them.
const (
	PhaseForward   Phase = iota // the model, forward
	PhaseTelescope              // measuring the model's output
	PhaseLoss
	PhaseBackward // gradients, including those of the loss and the telescope
	PhaseOptimizer

	NumPhases
)

// String returns the phase's name.
func (p Phase) String() string {
	return [NumPhases]string{"forward", "telescope", "loss", "backward", "optimizer"}[p]
}

// Step is one kernel call.
type Step struct {
	Name  string // "layer 3 convT dW": the layer, then the operation
	Op    Op
	Phase Phase
	In    []BufferID
	Out   []BufferID
	FLOPs int64 // additions and multiplications
	Bytes int64 // bytes read and written at least once

	// Products selects how a convolution or its gradients multiply; it is Exact
	// for other steps.
	Products Products
}

// Products is how the operands of convolutions and their gradients are multiplied.
type Products uint8

const (
	// Exact multiplies the operands as they are. Backends may compute operands of 16 bits by other sums of
	// products, rounded to 16 bits where they are multiplied, if their error stays about as large.
	Exact Products = iota

	// BF16x3 splits each float32 operand into high = bf16(x) and low = bf16(x −
	// high), and adds high·high + high·low + low·high in float32: three products
	// that a processor with matrix instructions for bf16 computes fast, with an
	// error of a few parts in a million.
	BF16x3

	// Winograd computes Conv2D of 3×3 taps, stride 1 and padding 1, by Winograd's
	// F(4×4, 3×3) on backends that have it: a quarter of the multiplications, with ten
	// times the rounding error of Exact. Everything else is Exact.
	Winograd

	// TF32 rounds float32 operands to the 10 bits of mantissa of TensorFloat-32 and adds their products in float32, as
	// NVIDIA's matrix instructions do. Backends without these refuse it.
	TF32
)

// String returns the name of the setting for these products.
func (p Products) String() string { return [...]string{"exact", "bf16x3", "winograd", "tf32"}[p] }

// Category is the purpose of a buffer; memory is reported by category.
type Category uint8

// The memory categories.
const (
	Weights Category = iota
	Gradients
	Moments
	Activations
	Inputs
	Scratch
	NumCategories
)

// String returns the category's name for display.
func (c Category) String() string {
	return [...]string{"weights", "gradients", "moments", "activations", "inputs", "scratch"}[c]
}

// Input returns the buffer of the graph's input of that name. The second result
// is false if the plan has none.
func (p *Plan) Input(name string) (BufferID, bool) { id, ok := p.inputs[name]; return id, ok }

// Output returns the buffer of the graph's output of that name.
func (p *Plan) Output(name string) (BufferID, bool) { id, ok := p.outputs[name]; return id, ok }

// A Variable is an array that outlives plans: parameters, running statistics,
// gradients, Adam moments, the scaler's state.
type Variable struct {
	Name     string
	Shape    tensor.Shape
	Category Category

	// Initial returns the initial values; nil means zeros.
	Initial []float32
}

// specs returns the shapes and element types of buffers.
func (p *Plan) specs(ids []BufferID) []spec {
	s := make([]spec, len(ids))
	for i, id := range ids {
		s[i] = spec{p.Buffers[id].Shape, p.Buffers[id].DType}
	}
	return s
}
