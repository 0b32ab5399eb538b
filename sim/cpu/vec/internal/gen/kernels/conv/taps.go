package conv

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tapSums are the kernels of TapSum: 24 sums in registers with AVX-512, 12 with AVX2.
func (s *set) tapSums() {
	rows := 8
	if !s.Wide {
		rows = 4
	}
	for columns := 3; columns > 0; columns-- {
		s.tapSum("taps", rows, columns)
		s.tapSum("folded", rows, columns)
		s.tapSum("single", rows, columns)
	}
	if s.Wide && !s.OfPairs {
		pairs := s.pairsOf()
		pairs.tapSums()
		for rows := 4; rows > 0; rows /= 2 {
			for columns := 3; columns > 0; columns-- {
				pairs.tapSum("taps", rows, columns)
			}
		}
	}
}

// tapSum keeps rows times columns vectors of y in registers while the products of
// all channels and taps are added, and continues with the next tile.
func (s *set) tapSum(name string, rows, columns int) {
	what := map[string]string{"taps": "vectors", "folded": "folded vectors", "single": "vectors and one tap at 0"}[name]
	s.Kernel(fmt.Sprintf("%s%dx%d", name, rows, columns),
		"y *float32, pitch int, x *float32, at *int64, tiles, channels, xStep int, offsets *int64, taps int, "+
			"w *float32, wRow, wStep int, bias *float32, relu, fold int",
		fmt.Sprintf("is TapSum for a number of tiles of %d rows of %d %s.", rows, columns, what))
	at, offsets := s.Argument("at"), s.Argument("offsets")
	wRow, triple := s.ByteArgument("wRow"), s.GP64()
	s.LEAQ(operand.Mem{Base: wRow, Index: wRow, Scale: 2}, triple)
	sums, xs := s.Vectors(rows*columns), s.Vectors(columns)

	s.Label("tile")
	from := make([]reg.GPVirtual, columns)
	for c := range from {
		from[c] = s.Argument("x")
		s.ADDQ(operand.Mem{Base: at, Disp: 8 * c}, from[c])
	}
	s.tapBias(rows, columns, sums)
	w, fourth := s.Argument("w"), s.GP64()
	if rows > 4 {
		s.LEAQ(operand.Mem{Base: w, Index: wRow, Scale: 4}, fourth)
	}
	channels := s.Argument("channels")
	s.Label("channel")
	if name == "single" {
		s.tapTerm(rows, xs, sums, func(c int) operand.Mem { return operand.Mem{Base: from[c]} }, w, fourth,
			wRow, triple)
		wStep, xStep := s.ByteArgument("wStep"), s.ByteArgument("xStep")
		s.advance(rows, w, fourth, wStep)
		for c := range from {
			s.ADDQ(xStep, from[c])
		}
	} else {
		s.tapLoop(name == "folded", rows, xs, sums, from, w, fourth, wRow, triple, offsets)
	}
	s.DECQ(channels)
	s.JNZ(operand.LabelRef("channel"))

	s.tapStore(rows, columns, sums, at)
	s.ADDQ(operand.I32(int32(16*columns)), at)
	s.DECQ(s.ArgumentAddress("tiles"))
	s.JNZ(operand.LabelRef("tile"))
	s.End()
}

// advance moves the pointers to weights by a number of bytes.
func (s *set) advance(rows int, w, fourth reg.GPVirtual, bytes operand.Op) {
	s.ADDQ(bytes, w)
	if rows > 4 {
		s.ADDQ(bytes, fourth)
	}
}

// tapTerm adds the products of one channel and tap.
func (s *set) tapTerm(rows int, xs, sums []reg.VecVirtual, load func(c int) operand.Mem, w, fourth, wRow,
	triple reg.GPVirtual) {
	for c, v := range xs {
		if load != nil {
			s.VMOVUPS(load(c), v)
		}
	}
	for r := range rows {
		v := s.Vector()
		s.VBROADCASTSS(rowAddress(r%4, []reg.Register{w, fourth}[r/4], wRow, triple), v)
		for c, x := range xs {
			s.MultiplyAdd(x, v, sums[r*len(xs)+c])
		}
	}
}

// tapLoop adds the products of one channel and all taps, and moves to the next channel.
func (s *set) tapLoop(folded bool, rows int, xs, sums []reg.VecVirtual, from []reg.GPVirtual, w, fourth, wRow, triple,
	offsets reg.GPVirtual) {
	tap, offset := s.GP64(), s.GP64()
	s.XORQ(tap, tap)
	s.Label("tap")
	s.MOVQ(operand.Mem{Base: offsets, Index: tap, Scale: 8}, offset)
	s.tapLoad(xs, from, offset, folded)
	s.tapTerm(rows, xs, sums, nil, w, fourth, wRow, triple)
	s.advance(rows, w, fourth, operand.I32(4))
	s.INCQ(tap)
	s.CMPQ(tap, s.ArgumentAddress("taps"))
	s.JLT(operand.LabelRef("tap"))
	xStep, wStep := s.ByteArgument("xStep"), s.Argument("wStep")
	for c := range from {
		s.ADDQ(xStep, from[c])
	}
	s.SUBQ(tap, wStep)
	s.SHLQ(operand.U8(2), wStep)
	s.advance(rows, w, fourth, wStep)
}

// tapLoad loads the pixels under a tap.
func (s *set) tapLoad(xs []reg.VecVirtual, from []reg.GPVirtual, offset reg.GPVirtual, folded bool) {
	first := func(c int) operand.Mem { return operand.Mem{Base: from[c], Index: offset, Scale: 4} }
	if !folded {
		for c, v := range xs {
			s.VMOVUPS(first(c), v)
		}
		return
	}
	for c, v := range xs {
		if s.Wide {
			s.VMOVUPS(first(c), v.AsY())
		} else {
			s.VMOVUPS(first(c), v.AsX())
		}
	}
	s.ADDQ(s.ArgumentAddress("fold"), offset)
	for c, v := range xs {
		if s.Wide {
			s.VINSERTF64X4(operand.U8(1), first(c), v, v)
		} else {
			s.VINSERTF128(operand.U8(1), first(c), v, v)
		}
	}
}

// tapBias starts the sums with the bias of their row, or 0.
func (s *set) tapBias(rows, columns int, sums []reg.VecVirtual) {
	bias := s.Argument("bias")
	s.TESTQ(bias, bias)
	s.JZ(operand.LabelRef("unbiased"))
	for r := range rows {
		for c := range columns {
			s.VBROADCASTSS(operand.Mem{Base: bias, Disp: 4 * r}, sums[r*columns+c])
		}
	}
	s.JMP(operand.LabelRef("started"))
	s.Label("unbiased")
	for _, v := range sums {
		s.Zero(v)
	}
	s.Label("started")
}

// tapStore stores the sums, after the ReLU if bit 0 of the argument asks for it. Those of pairs are
// rounded to bfloat16 if bit 1 does.
func (s *set) tapStore(rows, columns int, sums []reg.VecVirtual, at reg.Register) {
	relu := s.Argument("relu")
	s.TESTQ(operand.U32(1), relu)
	s.JZ(operand.LabelRef("store"))
	none := s.Vector()
	s.Zero(none)
	for _, v := range sums {
		s.VMAXPS(v, none, v) // a NaN stays one
	}
	s.Label("store")
	if s.OfPairs {
		s.TESTQ(operand.U32(2), relu)
		s.JNZ(operand.LabelRef("halves"))
	}
	s.tapRows(rows, columns, at, 4, func(i int, to operand.Mem) { s.VMOVUPS(sums[i], to) })
	if s.OfPairs {
		s.JMP(operand.LabelRef("stored"))
		s.Label("halves")
		s.tapRows(rows, columns, at, 2, func(i int, to operand.Mem) {
			half := sums[i].AsY()
			s.VCVTUQQ2PS(sums[i], half)
			s.VMOVUPS(half, to)
		})
		s.Label("stored")
	}
}

// tapRows stores the vectors of a tile, whose elements have a number of bytes.
func (s *set) tapRows(rows, columns int, at reg.Register, bytes int, store func(i int, to operand.Mem)) {
	pitch := s.Argument("pitch")
	s.SHLQ(operand.U8(bits.TrailingZeros(uint(bytes))), pitch)
	for c := range columns {
		to := s.GP64()
		s.MOVQ(operand.Mem{Base: at, Disp: 8 * (columns + c)}, to)
		if bytes == 2 {
			s.SHRQ(operand.U8(1), to) // positions are those of float32
		}
		s.ADDQ(s.ArgumentAddress("y"), to)
		for r := range rows {
			store(r*columns+c, operand.Mem{Base: to})
			if r+1 < rows {
				s.ADDQ(pitch, to)
			}
		}
	}
}
