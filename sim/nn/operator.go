package nn

import (
	"fmt"

	"prismtop/sim/tensor"
)

// operator is an Op that a graph can hold. Together with the Op's flops, these
// methods are all that the graph and the compiler know about it; they are defined
// together in the file of the operator's family. A new operator needs nothing
// else.
type operator interface {
	Op

	// infer checks the operands and returns the results.
	infer(in []spec) ([]result, error)

	// precision returns which operands mixed precision converts.
	precision() precision

	// backward emits the steps that propagate the gradient gy of the first result
	// to the operands that need one.
	backward(b *backward, t *taped, gy BufferID) error
}

// sized is an operator that, unlike its Op, knows the size of its result: kernel
// returns the Op held by the plan's step.
type sized interface{ kernel() Op }

// spec is the shape and element type of an operand.
type spec struct {
	shape tensor.Shape
	dtype tensor.DType
}

func (s spec) elements() int64 { return int64(s.shape.Elements()) }

// result is a result of an operator: a new array, or an operand changed in place.
type result struct {
	spec
	inPlace bool
	operand int // which operand, if inPlace
}

// precision is the treatment of an operator by mixed precision, following
// PyTorch's autocast (spec/prism.md §5.7).
type precision uint8

const (
	follow     precision = iota // runs on operands as given
	reduced                     // its first two operands are converted to 16 bit
	reducedAll                  // all operands are converted to 16 bit; weights come first
	full                        // 16-bit operands are converted to float32
	widest                      // operands of several types are converted to float32
)

// operandType returns the element type to which operand i of in is converted.
func (p precision) operandType(in []spec, i int, amp tensor.DType) tensor.DType {
	have := in[i].dtype
	switch {
	case have == tensor.Complex64:
		return have
	case p == reduced && i < 2, p == reducedAll:
		return amp
	case p == full:
		return tensor.Float32
	case p == widest:
		for _, s := range in {
			if s.dtype != have {
				return tensor.Float32
			}
		}
	}
	return have
}

// image checks that a spec has the axes [N, C, H, W].
func image(s spec) error {
	if len(s.shape) != 4 {
		return fmt.Errorf("needs an image [N, C, H, W], not %v", s.shape)
	}
	return nil
}

// operands checks the number of operands of an operator.
func operands(in []spec, least, most int) error {
	if len(in) < least || len(in) > most {
		return fmt.Errorf("has %d operands", len(in))
	}
	return nil
}

// one returns the result list of an operator with one new result.
func one(shape tensor.Shape, dtype tensor.DType) []result {
	return []result{{spec: spec{shape, dtype}}}
}
