package matrix

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dense writes the products of a vector and a matrix that is read once from
// memory, eight or four rows side by side.
func (s *set) dense() {
	for _, halves := range []bool{false, true} {
		if halves && !s.Wide {
			break
		}
		s.combine(8, halves)
		s.combine(1, halves)
		s.products(halves)
	}
	if rounded := s.pairsOf(); s.Wide {
		rounded.combine(8, false)
		rounded.combine(1, false)
		rounded.products(false)
	}
}

// matrix returns how a kernel names a matrix, the end of the name of the function that it is for, and the size of the
// matrix' elements as a shift.
func (s *set) matrix(halves bool) (suffix, function, argument string, shift uint8) {
	switch {
	case halves:
		return "Halves", "Halves", "w *uint16", 1
	case s.OfPairs:
		return "", "Rounded", "w *float32", 2
	}
	return "", "", "w *float32", 2
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

// loadRow loads a vector of a matrix, bfloat16 if halves, rounded to bfloat16 with a set of pairs.
func (s *set) loadRow(m operand.Mem, v reg.VecVirtual, halves, masked bool) {
	switch {
	case !halves && s.OfPairs:
		s.LoadVector(m, v, masked)
		s.VPSLLD(operand.U8(16), s.Converted(v), v)
		return
	case !halves:
		s.LoadVector(m, v, masked)
		return
	case masked:
		s.VPMOVZXWD_Z(m, s.Mask, v)
	default:
		s.VPMOVZXWD(m, v)
	}
	s.VPSLLD(operand.U8(16), v, v)
}

// rowOffset returns the offset in the matrix for one in the vectors: half of it if halves.
func (s *set) rowOffset(offset reg.GPVirtual, halves bool) (in reg.GPVirtual, update func()) {
	if !halves {
		return offset, func() {}
	}
	in = s.GP64()
	return in, func() {
		s.MOVQ(offset, in)
		s.SHRQ(operand.U8(1), in)
	}
}

// combine adds weighted rows of a matrix to a row.
func (s *set) combine(rows int, halves bool) {
	suffix, function, argument, shift := s.matrix(halves)
	s.Kernel(fmt.Sprintf("combine%s%d", suffix, rows), "y *float32, n int, "+argument+", pitch int, x *float32",
		fmt.Sprintf("is Combine%s, rows of the matrix at a time: %d.", function, rows))
	y, n, w, pitch, x := s.Argument("y"), s.Argument("n"), s.Argument("w"), s.Argument("pitch"), s.Argument("x")
	s.SHLQ(operand.U8(shift), pitch)
	offset := s.GP64()
	in, update := s.rowOffset(offset, halves)
	at := s.matrixRows(w, pitch, in, rows)
	factors := s.Vectors(rows)
	for r, f := range factors {
		s.VBROADCASTSS(operand.Mem{Base: x, Disp: 4 * r}, f)
	}
	s.Elements(n, offset, s.lineVectors(), func(i int, masked bool) {
		update()
		sum := s.Vector()
		s.LoadVector(s.At(y, offset, i), sum, masked)
		for r, f := range factors {
			row := s.Vector()
			s.loadRow(at[r].Offset(i*s.Bytes()), row, halves, masked)
			s.VFMADD231PS(row, f, sum)
		}
		s.StoreVector(sum, s.At(y, offset, i), masked)
	})
	s.End()
}

// productRows is the number of matrix rows that the kernel multiplies with a row
// at a time: their sums fill one 16-byte store.
const productRows = 4

// lineVectors is the number of vectors in a cache line. Rows of a power of two of elements lie in the same set of the
// first-level cache, so a line may be gone before it is asked for again.
func (s *set) lineVectors() int { return 64 / s.Bytes() }

// products multiplies four rows of a matrix with a row. With AVX-512 it prefetches as many bytes behind them: on
// processors with AVX2 alone (EPYC, Zen 3) that takes half as long again as without.
func (s *set) products(halves bool) {
	suffix, function, argument, shift := s.matrix(halves)
	s.Kernel("products"+suffix, "out *float32, "+argument+", pitch int, x *float32, n int",
		"is Products"+function+" for four rows.")
	out, w, pitch, x, n := s.Argument("out"), s.Argument("w"), s.Argument("pitch"), s.Argument("x"), s.Argument("n")
	s.SHLQ(operand.U8(shift), pitch)
	offset := s.GP64()
	in, update := s.rowOffset(offset, halves)
	at := s.matrixRows(w, pitch, in, productRows)
	ahead := s.GP64() // the next rows
	if s.Wide {
		s.LEAQ(operand.Mem{Base: pitch, Index: pitch, Scale: 1}, ahead)
		s.LEAQ(operand.Mem{Base: w, Index: ahead, Scale: 2}, ahead)
	}
	sums := s.Vectors(productRows)
	for _, v := range sums {
		s.Zero(v)
	}
	s.Elements(n, offset, s.lineVectors(), func(i int, masked bool) {
		update()
		for line := 0; s.Wide && !masked && line < productRows*s.Bytes()>>(2-shift); line += 64 {
			s.PREFETCHT1(operand.Mem{Base: ahead, Index: in, Scale: 4, Disp: line})
		}
		factor := s.Vector()
		s.LoadVector(s.At(x, offset, i), factor, masked)
		for r, sum := range sums {
			row := s.Vector()
			s.loadRow(at[r].Offset(i*s.Bytes()), row, halves, masked)
			s.VFMADD231PS(row, factor, sum)
		}
	})
	s.VMOVUPS(s.FourSums(sums), operand.Mem{Base: out})
	s.End()
}
