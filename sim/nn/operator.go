package nn

import (
	"fmt"

	"prismtop/sim/tensor"
)

// operator is an Op that a graph can hold. Together with the Op's flops these
// methods are all that the graph and the compiler know about it, and they stand
// together in the file of the operator's family; a new operator needs no more.
type operator interface {
	Op

	// infer checks the operands and gives the results.
	infer(in []spec) ([]result, error)

	// precision says which operands mixed precision converts.
	precision() precision

	// backward emits the steps that carry the gradient gy of the first result
	// to the operands that want one.
	backward(b *backward, t *taped, gy BufferID) error
}

// sized is an operator that knows the size of its result, which its Op does
// not: kernel is the Op that the plan's step holds.
type sized interface{ kernel() Op }

// spec is the shape and element type of an operand.
type spec struct {
	shape tensor.Shape
	dtype tensor.DType
}

func (s spec) elements() int64 { return int64(s.shape.Elements()) }

// result is what an operator gives: a new array, or an operand changed in place.
type result struct {
	spec
	inPlace bool
	operand int // which operand, when inPlace
}

// precision is an operator's part in mixed precision, by the rules of PyTorch's
// autocast (spec/prism.md §5.7).
type precision uint8

const (
	follow  precision = iota // runs on what it is given
	reduced                  // its first two operands are converted to 16 bit
	full                     // 16-bit operands are converted to float32
	widest                   // operands of several types are converted to float32
)

// operandType is the element type that operand i of in is converted to.
func (p precision) operandType(in []spec, i int, amp tensor.DType) tensor.DType {
	have := in[i].dtype
	switch {
	case have == tensor.Complex64:
		return have
	case p == reduced && i < 2:
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
		return fmt.Errorf("wants an image [N, C, H, W], not %v", s.shape)
	}
	return nil
}

// operands checks how many operands an operator was given.
func operands(in []spec, least, most int) error {
	if len(in) < least || len(in) > most {
		return fmt.Errorf("has %d operands", len(in))
	}
	return nil
}

// one is the result list of an operator with one new result.
func one(shape tensor.Shape, dtype tensor.DType) []result {
	return []result{{spec: spec{shape, dtype}}}
}
