package elements

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// shuffles are the kernels that only move data.
func (s *set) shuffles() {
	s.copyRows()
	s.everyOther()
	s.doubleRows()
	s.anyNonZero()
	s.interleaveRows()
	if s.Wide {
		s.maxPool()
		s.padRows()
	}
}

// padRows copies rows of eights of elements between zeros, and fetches what comes later.
func (s *set) padRows() {
	s.Kernel("padRows", "y, x *float32, rows, eights, ahead int", "is PadRows.")
	y, x, rows, ahead := s.Argument("y"), s.Argument("x"), s.Argument("rows"), s.ByteArgument("ahead")
	zero := s.GP32()
	s.XORL(zero, zero)
	s.Label("row")
	s.MOVL(zero, operand.Mem{Base: y})
	s.ADDQ(operand.I32(4), y)
	n := s.Argument("eights")
	s.Label("sixteen")
	s.CMPQ(n, operand.U8(2))
	s.JLT(operand.LabelRef("rest"))
	v := s.Vector()
	s.VMOVUPS(operand.Mem{Base: x}, v)
	s.VMOVUPS(v, operand.Mem{Base: y})
	s.PREFETCHT0(operand.Mem{Base: x, Index: ahead, Scale: 1})
	s.ADDQ(operand.I32(64), x)
	s.ADDQ(operand.I32(64), y)
	s.SUBQ(operand.I32(2), n)
	s.JMP(operand.LabelRef("sixteen"))
	s.Label("rest")
	s.TESTQ(n, n)
	s.JZ(operand.LabelRef("end"))
	s.VMOVUPS(operand.Mem{Base: x}, v.AsY())
	s.VMOVUPS(v.AsY(), operand.Mem{Base: y})
	s.PREFETCHT0(operand.Mem{Base: x, Index: ahead, Scale: 1})
	s.ADDQ(operand.I32(32), x)
	s.ADDQ(operand.I32(32), y)
	s.Label("end")
	s.MOVL(zero, operand.Mem{Base: y})
	s.ADDQ(operand.I32(4), y)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}

// maxPool keeps the largest of each 2×2 elements, eight columns at a time. Of a number and a NaN
// either maximum has the NaN, and so has the union of their bits; two equal numbers are their
// union but for the sign of zeros.
func (s *set) maxPool() {
	s.Kernel("maxPool", "y, x *float32, rows, groups int", "is MaxPool.")
	y, x, rows := s.Argument("y"), s.Argument("x"), s.Argument("rows")
	below, pitch := s.GP64(), s.Argument("groups")
	s.SHLQ(operand.U8(6), pitch)
	even := s.Vector()
	s.VMOVUPS(s.Words("poolEven", func(i int) uint32 { return uint32(2 * i % s.Lanes) }, s.Lanes), even)
	larger := func(a, b reg.VecVirtual) reg.VecVirtual {
		v, w := s.Vector(), s.Vector()
		s.VMAXPS(a, b, v)
		s.VMAXPS(b, a, w)
		s.VPORD(v, w, v)
		return v
	}
	s.Label("row")
	s.LEAQ(operand.Mem{Base: x, Index: pitch, Scale: 1}, below)
	groups := s.Argument("groups")
	s.Label("group")
	a, b, beside := s.Vector(), s.Vector(), s.Vector()
	s.VMOVUPS(operand.Mem{Base: x}, a)
	s.VMOVUPS(operand.Mem{Base: below}, b)
	v := larger(a, b)
	s.VPERMILPS(operand.U8(0xb1), v, beside)
	v = larger(v, beside)
	s.VPERMPS(v, even, v)
	s.VMOVUPS(v.AsY(), operand.Mem{Base: y})
	s.ADDQ(operand.I32(64), x)
	s.ADDQ(operand.I32(64), below)
	s.ADDQ(operand.I32(32), y)
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.MOVQ(below, x)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}

// interleaveRows puts the elements of two rows beside each other, eight of each at a time.
func (s *set) interleaveRows() {
	s.Kernel("interleaveRows", "y *float32, yPitch int, even, odd *float32, rows, groups int", "is InterleaveRows.")
	y, yPitch, even, odd, rows := s.Argument("y"), s.ByteArgument("yPitch"), s.Argument("even"), s.Argument("odd"),
		s.Argument("rows")
	order, to := s.Vector(), s.GP64()
	if s.Wide {
		s.VMOVUPS(s.Words("interleaved", func(i int) uint32 { return uint32(i%2*s.Lanes + i/2) }, s.Lanes), order)
	}
	s.Label("row")
	s.MOVQ(y, to)
	groups := s.Argument("groups")
	s.Label("group")
	a, b := s.Vector(), s.Vector()
	s.VMOVUPS(operand.Mem{Base: even}, a.AsY())
	s.VMOVUPS(operand.Mem{Base: odd}, b.AsY())
	if s.Wide {
		s.VPERMT2PS(b, order, a)
		s.VMOVUPS(a, operand.Mem{Base: to})
	} else {
		low, high := s.Vector(), s.Vector()
		s.VUNPCKLPS(b, a, low)
		s.VUNPCKHPS(b, a, high)
		s.VMOVUPS(low.AsX(), operand.Mem{Base: to})
		s.VMOVUPS(high.AsX(), operand.Mem{Base: to, Disp: 16})
		s.VEXTRACTF128(operand.U8(1), low, operand.Mem{Base: to, Disp: 32})
		s.VEXTRACTF128(operand.U8(1), high, operand.Mem{Base: to, Disp: 48})
	}
	s.ADDQ(operand.I32(32), even)
	s.ADDQ(operand.I32(32), odd)
	s.ADDQ(operand.I32(64), to)
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.ADDQ(yPitch, y)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}

// doubleRows repeats each element in a block of 2×2, for rows of whole vectors.
func (s *set) doubleRows() {
	s.Kernel("doubleRows", "y, x *float32, rows, vectors int", "is DoubleRows.")
	y, x, rows := s.Argument("y"), s.Argument("x"), s.Argument("rows")
	below, pitch := s.GP64(), s.Argument("vectors")
	s.IMUL3Q(operand.U8(uint8(2*s.Bytes())), pitch, pitch)
	halves := s.Vectors(2)
	for h, v := range halves {
		s.VMOVUPS(s.Words(fmt.Sprintf("twice%d%s", h, s.Suffix),
			func(i int) uint32 { return uint32((h*s.Lanes + i) / 2) }, s.Lanes), v)
	}
	s.Label("row")
	s.LEAQ(operand.Mem{Base: y, Index: pitch, Scale: 1}, below)
	vectors := s.Argument("vectors")
	s.Label("vector")
	v := s.Vector()
	s.VMOVUPS(operand.Mem{Base: x}, v)
	for h, index := range halves {
		half := s.Vector()
		s.VPERMPS(v, index, half)
		s.VMOVUPS(half, operand.Mem{Base: y, Disp: h * s.Bytes()})
		s.VMOVUPS(half, operand.Mem{Base: below, Disp: h * s.Bytes()})
	}
	s.ADDQ(operand.I32(int32(s.Bytes())), x)
	s.ADDQ(operand.I32(int32(2*s.Bytes())), y)
	s.ADDQ(operand.I32(int32(2*s.Bytes())), below)
	s.DECQ(vectors)
	s.JNZ(operand.LabelRef("vector"))
	s.MOVQ(below, y)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}

// copyRows copies n elements per row.
func (s *set) copyRows() {
	s.Kernel("copyRows", "y *float32, yPitch int, x *float32, xPitch, rows, n int", "is CopyRows.")
	s.eachRow(func(y, x, n reg.GPVirtual) {
		offset, unroll := s.GP64(), 1
		if !s.Wide {
			unroll = 4
		}
		s.Elements(n, offset, unroll, func(i int, masked bool) {
			v := s.Vector()
			s.LoadVector(s.At(x, offset, i), v, masked)
			s.StoreVector(v, s.At(y, offset, i), masked)
		})
	})
}

// eachRow writes a loop over rows of y and x. body may change n only.
func (s *set) eachRow(body func(y, x, n reg.GPVirtual)) {
	y, x, rows := s.Argument("y"), s.Argument("x"), s.Argument("rows")
	yPitch, xPitch := s.ByteArgument("yPitch"), s.ByteArgument("xPitch")
	s.Label("row")
	body(y, x, s.Argument("n"))
	s.ADDQ(yPitch, y)
	s.ADDQ(xPitch, x)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}

// everyOther copies every other element of rows, n per row. The last vector's
// input ends before 2n − 1.
func (s *set) everyOther() {
	s.Kernel("everyOther", "y *float32, yPitch int, x *float32, xPitch, rows, n int", "is EveryOther.")
	var even reg.VecVirtual
	if s.Wide {
		even = s.Vector()
		s.VMOVUPS(s.Words("even", func(i int) uint32 { return uint32(2 * i) }, s.Lanes), even)
	}
	s.eachRow(func(y, x, n reg.GPVirtual) {
		offset := s.GP64()
		s.XORQ(offset, offset)
		from := func(i int) operand.Mem {
			return operand.Mem{Base: x, Index: offset, Scale: 2, Disp: i * s.Bytes()}
		}
		move := func(inputs reg.GPVirtual) {
			low, high, masked := s.Vector(), s.Vector(), inputs != nil
			if masked {
				s.Partial(inputs)
			}
			s.LoadVector(from(0), low, masked)
			if masked {
				s.SUBQ(operand.U8(uint8(s.Lanes)), inputs)
				s.Partial(inputs)
			}
			s.LoadVector(from(1), high, masked)
			if s.Wide {
				s.VPERMT2PS(high, even, low)
			} else {
				s.VSHUFPS(operand.U8(0x88), high, low, low)
				s.VPERMPD(operand.U8(0xd8), low, low)
			}
			if masked {
				s.Partial(n)
			}
			s.StoreVector(low, s.At(y, offset, 0), masked)
			s.ADDQ(operand.I32(int32(s.Bytes())), offset)
			s.SUBQ(operand.U8(uint8(s.Lanes)), n)
		}
		s.Label("whole")
		s.CMPQ(n, operand.U8(uint8(s.Lanes)))
		s.JLE(operand.LabelRef("rest"))
		move(nil)
		s.JMP(operand.LabelRef("whole"))
		s.Label("rest")
		if !s.Wide {
			s.everyOtherUnmasked(y, x, n, offset)
		}
		inputs := s.GP64()
		s.LEAQ(operand.Mem{Base: n, Index: n, Scale: 1, Disp: -1}, inputs)
		move(inputs)
		if !s.Wide {
			s.Label("done")
		}
	})
}

// everyOtherUnmasked copies the last eight or four elements of a row, whose second half ends in a register's last lane,
// and goes to done: AMD's processors take as long for a store through a mask of AVX2 as for tens of others.
func (s *set) everyOtherUnmasked(y, x, n, offset reg.GPVirtual) {
	from := func(at int) operand.Mem { return operand.Mem{Base: x, Index: offset, Scale: 2, Disp: 4 * at} }
	const evenThenOdd, swapMiddle = 0xd8, 0xd8
	low, high := s.YMM(), s.YMM()
	s.CMPQ(n, operand.U8(8))
	s.JNE(operand.LabelRef("four"))
	s.VMOVUPS(from(0), low)
	s.VMOVUPS(from(7), high)
	s.VSHUFPS(operand.U8(evenThenOdd), high, low, low)
	s.VPERMPD(operand.U8(swapMiddle), low, low)
	s.VMOVUPS(low, s.At(y, offset, 0))
	s.JMP(operand.LabelRef("done"))
	s.Label("four")
	s.CMPQ(n, operand.U8(4))
	s.JNE(operand.LabelRef("partial"))
	s.VMOVUPS(from(0), low.AsX())
	s.VMOVUPS(from(3), high.AsX())
	s.VSHUFPS(operand.U8(evenThenOdd), high.AsX(), low.AsX(), low.AsX())
	s.VMOVUPS(low.AsX(), s.At(y, offset, 0))
	s.JMP(operand.LabelRef("done"))
	s.Label("partial")
}

// anyNonZero reports whether a row has an element that is neither zero.
func (s *set) anyNonZero() {
	s.Kernel("nonZero", "", "is NonZero.")
	s.SignatureExpr("func(x *float32, n int) (found uint32)")
	x, n, offset := s.Argument("x"), s.Argument("n"), s.GP64()
	bits, magnitude, found := s.Vectors(4), s.Vector(), s.GP32()
	for _, v := range bits {
		s.Zero(v)
	}
	word, low := s.GP32(), s.XMM()
	s.MOVL(operand.U32(1<<31-1), word)
	s.MOVD(word, low)
	s.VBROADCASTSS(low, magnitude)
	or := func(a, b reg.VecVirtual) {
		if s.Wide {
			s.VPORD(a, b, b)
		} else {
			s.VORPS(a, b, b)
		}
	}
	s.Elements(n, offset, 4, func(i int, masked bool) {
		v := s.Vector()
		s.LoadVector(s.At(x, offset, i), v, masked)
		or(v, bits[i])
	})
	for i := range 3 {
		or(bits[i+1], bits[0])
	}
	if s.Wide {
		k := s.K()
		s.VPTESTMD(magnitude, bits[0], k)
		s.KMOVW(k, found)
	} else {
		flag := s.GP8()
		s.VPTEST(magnitude, bits[0])
		s.SETNE(flag)
		s.MOVBLZX(flag, found)
	}
	s.Store(found, s.ReturnIndex(0))
	s.End()
}
