package kernels

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dense writes the products of a vector and a matrix that is read once from
// memory, eight or four rows side by side.
func (s *set) dense() {
	s.combine(8)
	s.combine(1)
	s.products()
	if s.wide && !s.ofPairs {
		s.pairsOf().dense()
	}
}

// matrixRows addresses rows of a matrix, pitch bytes apart, at a common offset.
func (s *set) matrixRows(first, pitch, offset reg.GPVirtual, rows int) []operand.Mem {
	at := make([]operand.Mem, rows)
	row := s.GP64()
	s.MOVQ(first, row)
	for r := range at {
		if r > 0 {
			next := s.GP64()
			s.LEAQ(operand.Mem{Base: row, Index: pitch, Scale: 1}, next)
			row = next
		}
		at[r] = operand.Mem{Base: row, Index: offset, Scale: 1}
	}
	return at
}

// rounded rounds a vector to bfloat16 in kernels that multiply such values in float32.
func (s *set) rounded(v reg.VecVirtual) reg.VecVirtual {
	if !s.ofPairs {
		return v
	}
	w := s.converted(v)
	s.VPSLLD(operand.U8(16), w, w)
	return w
}

// combine adds weighted rows of a matrix to a row.
func (s *set) combine(rows int) {
	s.function(fmt.Sprintf("combine%d", rows), "y *float32, n int, w *float32, pitch int, x *float32",
		fmt.Sprintf("is Combine, rows of the matrix at a time: %d.", rows))
	y, n, w, pitch, x := s.argument("y"), s.argument("n"), s.argument("w"), s.byteArgument("pitch"), s.argument("x")
	offset := s.GP64()
	at := s.matrixRows(w, pitch, offset, rows)
	factors := s.vectors(rows)
	for r, f := range factors {
		s.VBROADCASTSS(operand.Mem{Base: x, Disp: 4 * r}, f)
	}
	s.elements(n, offset, 1, func(_ int, masked bool) {
		sum := s.vector()
		s.load(s.at(y, offset, 0), sum, masked)
		for r, f := range factors {
			row := s.vector()
			s.load(at[r], row, masked)
			s.VFMADD231PS(s.rounded(row), f, sum)
		}
		s.store(sum, s.at(y, offset, 0), masked)
	})
	s.end()
}

// productRows is the number of matrix rows that the kernel multiplies with a row
// at a time: their sums fill one 16-byte store.
const productRows = 4

// products multiplies four rows of a matrix with a row.
func (s *set) products() {
	s.function("products", "out *float32, w *float32, pitch int, x *float32, n int", "is Products for four rows.")
	out, w, pitch, x, n := s.argument("out"), s.argument("w"), s.byteArgument("pitch"), s.argument("x"), s.argument("n")
	offset := s.GP64()
	at := s.matrixRows(w, pitch, offset, productRows)
	sums := s.vectors(productRows)
	for _, v := range sums {
		s.zero(v)
	}
	s.elements(n, offset, 1, func(_ int, masked bool) {
		factor := s.vector()
		s.load(s.at(x, offset, 0), factor, masked)
		for r, sum := range sums {
			row := s.vector()
			s.load(at[r], row, masked)
			s.VFMADD231PS(s.rounded(row), factor, sum)
		}
	})
	s.VMOVUPS(s.four(sums), operand.Mem{Base: out})
	s.end()
}
