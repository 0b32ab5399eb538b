package conv

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// edge is the row of x under a tile that is outside the image, and zero.
type edge int

const (
	inside edge = iota
	top         // the first
	bottom      // the last
)

// squareAhead is the number of channels whose weights are fetched before they are used: those of a
// small image are read from beyond the second-level cache, with few tiles to each.
const squareAhead = 8

// squares are the kernels of SquareSum, with AVX-512 only: 24 or 16 sums in registers.
func (s *set) squares() {
	if !s.Wide {
		return
	}
	for rows := 3; rows > 1; rows-- {
		for _, folded := range []bool{false, true} {
			for e := inside; e <= bottom; e++ {
				s.square(3, rows, folded, e)
			}
			s.square(2, rows, folded, inside)
		}
	}
}

// square keeps rows vectors of eight output channels in registers while the products of all
// channels and taps are added, and continues with the next tile. Rows of x under several rows of
// the tile are loaded once; a row at an edge is left out.
func (s *set) square(side, rows int, folded bool, e edge) {
	const outputs = 8
	name, what := "square", "rows"
	if folded {
		name, what = "foldedSquare", "folded rows"
	}
	s.Kernel(fmt.Sprintf("%s%dx%d%s", name, side, rows, [...]string{"", "Top", "Bottom"}[e]),
		"y *float32, pitch, yRow int, x *float32, at *int64, tiles, channels, xStep, xRow int, w, bias *float32, "+
			"relu, fold, yFold int",
		fmt.Sprintf("is SquareSum for a number of tiles of %d %s and %d×%[3]d taps%s.", rows, what, side,
			[...]string{"", " at the upper edge", " at the lower edge"}[e]))
	at, xRow := s.Argument("at"), s.Argument("xRow")
	sums := s.Vectors(rows * outputs)
	under := rows + side - 1
	outside := [...]int{-1, 0, under - 1}[e]

	s.Label("tile")
	from := make([]reg.GPVirtual, under)
	for i := range from {
		from[i] = s.GP64()
		if i == 0 {
			s.MOVQ(s.ArgumentAddress("x"), from[i])
			s.ADDQ(operand.Mem{Base: at}, from[i])
		} else {
			s.LEAQ(operand.Mem{Base: from[i-1], Index: xRow, Scale: 1}, from[i])
		}
	}
	s.tapBias(outputs, rows, sums)
	w, channels := s.Argument("w"), s.Argument("channels")
	fold := s.Argument("fold")

	s.Label("channel")
	xs := s.Vectors(under)
	weights := 4 * outputs * side * side
	for at := 0; at < weights; at += 64 {
		s.PREFETCHT0(operand.Mem{Base: w, Disp: squareAhead*weights + at})
	}
	for kx := range side {
		for i, v := range xs {
			m := operand.Mem{Base: from[i], Disp: 4 * kx}
			if i == outside {
				continue
			}
			if !folded {
				s.VMOVUPS(m, v)
				continue
			}
			s.VMOVUPS(m, v.AsY())
			m.Index, m.Scale = fold, 1
			s.VINSERTF64X4(operand.U8(1), m, v, v)
		}
		for ky := range side {
			for o := range outputs {
				v := s.Vector()
				s.VBROADCASTSS(operand.Mem{Base: w, Disp: 4 * (outputs*(side*ky+kx) + o)}, v)
				for i := range rows {
					if i+ky != outside {
						s.VFMADD231PS(xs[i+ky], v, sums[o*rows+i])
					}
				}
			}
		}
	}
	for _, p := range from {
		s.ADDQ(s.ArgumentAddress("xStep"), p)
	}
	s.ADDQ(operand.I32(int32(weights)), w)
	s.DECQ(channels)
	s.JNZ(operand.LabelRef("channel"))

	s.squareStore(outputs, rows, sums, at, folded)
	s.ADDQ(operand.I32(16), at)
	s.DECQ(s.ArgumentAddress("tiles"))
	s.JNZ(operand.LabelRef("tile"))
	s.End()
}

// squareStore stores the sums, after the ReLU if asked for.
func (s *set) squareStore(outputs, rows int, sums []reg.VecVirtual, at reg.Register, folded bool) {
	relu := s.Argument("relu")
	s.TESTQ(relu, relu)
	s.JZ(operand.LabelRef("store"))
	none := s.Vector()
	s.Zero(none)
	for _, v := range sums {
		s.VMAXPS(v, none, v) // a NaN stays one
	}
	s.Label("store")
	pitch, yRow, yFold, line := s.Argument("pitch"), s.Argument("yRow"), s.Argument("yFold"), s.GP64()
	s.MOVQ(s.ArgumentAddress("y"), line)
	s.ADDQ(operand.Mem{Base: at, Disp: 8}, line)
	for i := range rows {
		to := s.GP64()
		s.MOVQ(line, to)
		for o := range outputs {
			v := sums[o*rows+i]
			if folded {
				s.VMOVUPS(v.AsY(), operand.Mem{Base: to})
				s.VEXTRACTF64X4(operand.U8(1), v, operand.Mem{Base: to, Index: yFold, Scale: 1})
			} else {
				s.VMOVUPS(v, operand.Mem{Base: to})
			}
			if o+1 < outputs {
				s.ADDQ(pitch, to)
			}
		}
		if i+1 < rows {
			s.ADDQ(yRow, line)
		}
	}
}
