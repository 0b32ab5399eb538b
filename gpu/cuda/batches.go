package cuda

import (
	"unsafe"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// batches collects consecutive steps that one launch computes. A launch of another step launches them first.
type batches struct {
	scalars   []scalarStep
	gradients []gradientP
	unscale   unscaleP // of the gradients
	first     int      // step of the batch
	done      map[int]bool
}

// scalarStep is Scalar of optimizer.cu.
type scalarStep struct {
	X, Y, Z      driver.Pointer
	Op, N, Index int32
	Value        float32
}

// Operators of scalar steps.
const (
	scalarFill = iota
	scalarCopy
	scalarScale
	scalarAdd
	scalarOne
	scalarWeigh
	scalarCount
	scalarScaler
)

// scalarSteps is the number of scalar steps of a launch.
const scalarSteps = 16

// scalarsP is ScalarsP of optimizer.cu.
type scalarsP struct {
	Steps [scalarSteps]scalarStep
	Count int32
}

// scalar adds a step to the program of scalar steps.
func (b *builder) scalar(s scalarStep) error {
	if len(b.gradients) > 0 || len(b.scalars) == scalarSteps {
		if err := b.flushBatches(); err != nil {
			return err
		}
	}
	if len(b.scalars) == 0 {
		b.first = b.index
	}
	b.scalars = append(b.scalars, s)
	return nil
}

// flushBatches launches what was collected.
func (b *builder) flushBatches() error {
	index := b.index
	defer func() { b.index = index }()
	if len(b.scalars) > 0 {
		p := scalarsP{Count: int32(len(b.scalars))}
		copy(p.Steps[:], b.scalars)
		b.index, b.scalars = b.first, nil
		return b.launch("scalars", driver.X(1), driver.X(32), 0, parameter(&p))
	}
	if len(b.gradients) > 0 {
		p, arrays := b.unscale, b.gradients
		sizes := make([]int64, len(arrays))
		for i, g := range arrays {
			sizes[i] = g.N
		}
		var count int
		p.Gradients = b.table(structs(arrays))
		p.Chunks, count = b.chunks(sizes)
		b.index, b.gradients = b.first, nil
		return b.launch("unscale", driver.X(count), driver.X(blockThreads), 0, parameter(&p))
	}
	return nil
}

// chunk is Chunk of optimizer.cu: part of one of the arrays that a launch has.
type chunk struct{ Array, N int32 }

// chunkSize is CHUNK of optimizer.cu.
const chunkSize = 2048

// chunks returns a table of the chunks of arrays of these sizes, and their number.
func (b *builder) chunks(sizes []int64) (driver.Pointer, int) {
	var all []chunk
	for i, n := range sizes {
		for k := range (n + chunkSize - 1) / chunkSize {
			all = append(all, chunk{int32(i), int32(k)})
		}
	}
	return b.table(structs(all)), len(all)
}

// structs returns the memory of a slice of structs without Go pointers.
func structs[T any](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

// isScalar checks that operands are float32 numbers.
func isScalar(all ...operand) error {
	for _, o := range all {
		if o.dtype != tensor.Float32 || o.n() != 1 {
			return operandError("%v %v is not a scalar", o.dtype, o.shape)
		}
	}
	return nil
}

// termP is Term of optimizer.cu.
type termP struct {
	X      driver.Pointer
	Weight float64
}

func (b *builder) weightedSum(op nn.WeightedSum) error {
	x, y, err := b.operands(len(op.Weights), 1)
	if err != nil {
		return err
	}
	if err := isScalar(append(x, y[0])...); err != nil {
		return err
	}
	terms := make([]termP, len(x))
	for i, w := range op.Weights {
		terms[i] = termP{x[i].at, float64(w)}
	}
	return b.scalar(scalarStep{Op: scalarWeigh, X: b.table(structs(terms)), Y: y[0].at, N: int32(len(terms))})
}

func (b *builder) seed(op nn.Seed) error {
	x, y := b.ins(), b.outs()
	if len(x) > 1 || len(y) != 1 {
		return operandError("%d operands and %d results", len(x), len(y))
	}
	if err := isScalar(append(x, y[0])...); err != nil {
		return err
	}
	if len(x) == 0 {
		return b.scalar(scalarStep{Op: scalarFill, Y: y[0].at, N: 1, Value: op.Weight})
	}
	return b.scalar(scalarStep{Op: scalarScale, X: x[0].at, Y: y[0].at, Value: op.Weight})
}

func (b *builder) element(op nn.Element) error {
	x, y, err := b.operands(1, 1)
	if err != nil {
		return err
	}
	if len(x[0].shape) != 1 || x[0].dtype != tensor.Float32 || op.Index < 0 || op.Index >= x[0].shape[0] {
		return operandError("element %d of %v %v", op.Index, x[0].dtype, x[0].shape)
	}
	if err := isScalar(y[0]); err != nil {
		return err
	}
	return b.scalar(scalarStep{Op: scalarCopy, X: x[0].at + driver.Pointer(4*op.Index), Y: y[0].at})
}

func (b *builder) elementGrad(op nn.ElementGrad) error {
	x, y, err := b.operands(1, 1)
	if err != nil {
		return err
	}
	if len(y[0].shape) != 1 || y[0].dtype != tensor.Float32 || !y[0].indexed() || op.Index < 0 || op.Index >= y[0].shape[0] {
		return operandError("element %d of %v %v", op.Index, y[0].dtype, y[0].shape)
	}
	if err := isScalar(x[0]); err != nil {
		return err
	}
	return b.scalar(scalarStep{Op: scalarOne, X: x[0].at, Y: y[0].at, N: int32(y[0].n()), Index: int32(op.Index)})
}
