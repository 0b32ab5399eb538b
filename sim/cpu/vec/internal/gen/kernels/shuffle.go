package kernels

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// shuffles are the kernels that compute nothing.
func (s *set) shuffles() {
	s.copyRows()
	s.everyOther()
	s.transpose("transposeIn", false)
	s.transpose("transposeOut", true)
	s.anyNonZero()
}

// copyRows moves n elements of each of a number of rows.
func (s *set) copyRows() {
	s.function("copyRows", "y *float32, yPitch int, x *float32, xPitch, rows, n int", "is CopyRows.")
	s.eachRow(func(y, x, n reg.GPVirtual) {
		offset := s.GP64()
		s.elements(n, offset, 1, func(i int, masked bool) {
			v := s.vector()
			s.load(s.at(x, offset, i), v, masked)
			s.store(v, s.at(y, offset, i), masked)
		})
	})
}

// eachRow writes a loop over rows of y and x. body may change n only.
func (s *set) eachRow(body func(y, x, n reg.GPVirtual)) {
	y, x, rows := s.argument("y"), s.argument("x"), s.argument("rows")
	yPitch, xPitch := s.byteArgument("yPitch"), s.byteArgument("xPitch")
	s.Label("row")
	body(y, x, s.argument("n"))
	s.ADDQ(yPitch, y)
	s.ADDQ(xPitch, x)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.end()
}

// everyOther moves every other element of rows, n of each. The last vector's
// input ends before 2n − 1.
func (s *set) everyOther() {
	s.function("everyOther", "y *float32, yPitch int, x *float32, xPitch, rows, n int", "is EveryOther.")
	var even reg.VecVirtual
	if s.wide {
		even = s.vector()
		s.VMOVUPS(s.words("even", func(i int) uint32 { return uint32(2 * i) }, s.lanes), even)
	}
	s.eachRow(func(y, x, n reg.GPVirtual) {
		offset := s.GP64()
		s.XORQ(offset, offset)
		from := func(i int) operand.Mem {
			return operand.Mem{Base: x, Index: offset, Scale: 2, Disp: i * s.bytes()}
		}
		move := func(inputs reg.GPVirtual) {
			low, high, masked := s.vector(), s.vector(), inputs != nil
			if masked {
				s.partial(inputs)
			}
			s.load(from(0), low, masked)
			if masked {
				s.SUBQ(operand.U8(uint8(s.lanes)), inputs)
				s.partial(inputs)
			}
			s.load(from(1), high, masked)
			if s.wide {
				s.VPERMT2PS(high, even, low)
			} else {
				s.VSHUFPS(operand.U8(0x88), high, low, low)
				s.VPERMPD(operand.U8(0xd8), low, low)
			}
			if masked {
				s.partial(n)
			}
			s.store(low, s.at(y, offset, 0), masked)
			s.ADDQ(operand.I32(int32(s.bytes())), offset)
			s.SUBQ(operand.U8(uint8(s.lanes)), n)
		}
		s.Label("whole")
		s.CMPQ(n, operand.U8(uint8(s.lanes)))
		s.JLE(operand.LabelRef("rest"))
		move(nil)
		s.JMP(operand.LabelRef("whole"))
		s.Label("rest")
		inputs := s.GP64()
		s.LEAQ(operand.Mem{Base: n, Index: n, Scale: 1, Disp: -1}, inputs)
		move(inputs)
	})
}

// words makes a table of constants.
func (s *set) words(name string, value func(i int) uint32, n int) operand.Mem {
	m := s.StaticGlobal(name)
	s.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range n {
		s.AppendDatum(operand.U32(value(i)))
	}
	return m
}

// transpose moves blocks of eight by eight complex64 between rows of a plane, pitch
// apart, and rows of lanes: in from the plane, through a permutation within 16
// bytes, or out to it from rows in the order of an index.
func (s *set) transpose(name string, out bool) {
	if out {
		s.function(name, "plane *complex64, pitch int, block *complex64, index *int32, groups int",
			"is RowsOut for groups of eight columns.")
	} else {
		s.function(name, "block, plane *complex64, pitch, groups int, order *uint32",
			"is RowsIn for groups of eight columns.")
	}
	t := &transposed{set: s, plane: s.argument("plane"), pitch: s.argument("pitch"), block: s.argument("block")}
	s.SHLQ(operand.U8(3), t.pitch)
	t.triple, t.fourth = s.GP64(), s.GP64()
	s.LEAQ(operand.Mem{Base: t.pitch, Index: t.pitch, Scale: 2}, t.triple)
	groups := s.argument("groups")
	if out {
		t.index = s.argument("index")
	} else {
		at := s.argument("order")
		t.order = s.vector()
		s.VMOVUPS(operand.Mem{Base: at}, t.order)
	}
	s.Label("group")
	s.LEAQ(operand.Mem{Base: t.plane, Index: t.pitch, Scale: 4}, t.fourth)
	t.squares()
	s.ADDQ(operand.I32(8*8), t.plane)
	if out {
		s.ADDQ(operand.I32(8*4), t.index)
	} else {
		s.ADDQ(operand.I32(8*rowBytes), t.block)
	}
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.end()
}

type transposed struct {
	*set
	plane, pitch, triple, fourth reg.GPVirtual
	block, index                 reg.GPVirtual // index is set on the way out only
	order                        reg.VecVirtual
}

// row is where row l of the plane has its vector at a byte offset.
func (t *transposed) row(l, at int) operand.Mem {
	m := operand.Mem{Base: t.plane, Disp: at}
	if l >= 4 {
		m.Base = t.fourth
	}
	switch l % 4 {
	case 1, 2:
		m.Index, m.Scale = t.pitch, uint8(l%4)
	case 3:
		m.Index, m.Scale = t.triple, 1
	}
	return m
}

// squares transposes one block as squares of as many elements as a vector holds.
func (t *transposed) squares() {
	side := t.bytes() / 8
	for i := 0; i < 8; i += side {
		for j := 0; j < 8; j += side {
			v := t.vectors(side)
			for k := range v {
				if t.index == nil {
					t.VMOVUPS(t.row(i+k, 8*j), v[k])
					t.VPERMILPS(t.order, v[k], v[k])
					continue
				}
				at := t.GP64()
				t.MOVLQSX(operand.Mem{Base: t.index, Disp: 4 * (i + k)}, at)
				t.SHLQ(operand.U8(6), at)
				t.VMOVUPS(operand.Mem{Base: t.block, Index: at, Scale: 1, Disp: 8 * j}, v[k])
			}
			for k, w := range t.square(v) {
				if t.index == nil {
					t.VMOVUPS(w, operand.Mem{Base: t.block, Disp: (j+k)*rowBytes + 8*i})
				} else {
					t.VMOVUPS(w, t.row(j+k, 8*i))
				}
			}
		}
	}
}

// square transposes a square of complex64 in registers.
func (s *set) square(v []reg.VecVirtual) []reg.VecVirtual {
	pairs := make([][]reg.VecVirtual, 2) // even columns, odd columns
	for i := 0; i < len(v); i += 2 {
		even, odd := s.vector(), s.vector()
		s.VUNPCKLPD(v[i+1], v[i], even)
		s.VUNPCKHPD(v[i+1], v[i], odd)
		pairs[0], pairs[1] = append(pairs[0], even), append(pairs[1], odd)
	}
	columns := make([]reg.VecVirtual, len(v))
	for parity, p := range pairs {
		if !s.wide {
			columns[parity], columns[parity+2] = s.vector(), s.vector()
			s.VPERM2F128(operand.U8(0x20), p[1], p[0], columns[parity])
			s.VPERM2F128(operand.U8(0x31), p[1], p[0], columns[parity+2])
			continue
		}
		for half, lanes := range []int{0x88, 0xdd} {
			a, b := s.vector(), s.vector()
			s.VSHUFF64X2(operand.U8(uint8(lanes)), p[1], p[0], a)
			s.VSHUFF64X2(operand.U8(uint8(lanes)), p[3], p[2], b)
			first := parity + 2*half
			columns[first], columns[first+4] = s.vector(), s.vector()
			s.VSHUFF64X2(operand.U8(0x88), b, a, columns[first])
			s.VSHUFF64X2(operand.U8(0xdd), b, a, columns[first+4])
		}
	}
	return columns
}

// anyNonZero tells whether a row has an element that is neither zero.
func (s *set) anyNonZero() {
	s.function("nonZero", "", "is NonZero.")
	s.SignatureExpr("func(x *float32, n int) (found uint32)")
	x, n, offset := s.argument("x"), s.argument("n"), s.GP64()
	bits, magnitude, found := s.vectors(4), s.vector(), s.GP32()
	for _, v := range bits {
		s.zero(v)
	}
	word, low := s.GP32(), s.XMM()
	s.MOVL(operand.U32(1<<31-1), word)
	s.MOVD(word, low)
	s.VBROADCASTSS(low, magnitude)
	or := func(a, b reg.VecVirtual) {
		if s.wide {
			s.VPORD(a, b, b)
		} else {
			s.VORPS(a, b, b)
		}
	}
	s.elements(n, offset, 4, func(i int, masked bool) {
		v := s.vector()
		s.load(s.at(x, offset, i), v, masked)
		or(v, bits[i])
	})
	for i := range 3 {
		or(bits[i+1], bits[0])
	}
	if s.wide {
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
	s.end()
}
