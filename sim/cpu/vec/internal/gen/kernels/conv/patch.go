package conv

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// patchFloats is the size of a patch: the 4×4 taps of a transposed convolution of
// stride 2. It is one vector of AVX-512 or two of AVX2.
const patchFloats = 16

// patchKernels are the products with patches. The kernels that move patches are
// bound by loads and stores and exist for AVX2 only.
func (s *set) patchKernels() {
	shapes := []shape{{8, 2}, {4, 2}, {2, 2}, {1, 2}, {16, 1}, {8, 1}, {4, 1}, {2, 1}, {1, 1}}
	if !s.Wide {
		shapes = []shape{{6, 2}, {4, 2}, {2, 2}, {1, 2}}
	}
	for _, t := range shapes {
		s.outer(t.rows, t.columns)
	}
	if s.OfPairs {
		return
	}
	for _, rows := range s.dotRows() {
		s.inner(rows)
	}
	if s.Wide {
		s.pairsOf().patchKernels()
		return
	}
	s.patches()
	s.fold()
	s.prefetch()
}

// prefetch prefetches the lines of a row into the second-level cache.
func (s *set) prefetch() {
	s.Kernel("prefetch", "x *float32, lines int", "is Prefetch.")
	x, lines := s.Argument("x"), s.Argument("lines")
	s.Label("line")
	s.PREFETCHT1(operand.Mem{Base: x})
	s.ADDQ(operand.I32(64), x)
	s.DECQ(lines)
	s.JNZ(operand.LabelRef("line"))
	s.RET()
}

// rowAddress returns the address of row r of four rows stride bytes apart; triple is
// three strides.
func rowAddress(r int, base, stride, triple reg.Register) operand.Mem {
	m := operand.Mem{Base: base}
	switch r {
	case 1, 2:
		m.Index, m.Scale = stride, uint8(r)
	case 3:
		m.Index, m.Scale = triple, 1
	}
	return m
}

// outer keeps rows times columns vectors of c in registers while products of one
// element of a and a vector of b are added, and continues with the next rows.
func (s *set) outer(rows, columns int) {
	s.Kernel(fmt.Sprintf("outer%dx%d", rows, columns),
		"c *float32, cm, cv int, a *float32, am, ak int, b *float32, bk, bv int, k, add, tiles int",
		fmt.Sprintf("is Outer for a number of tiles of %d rows of %d vectors.", rows, columns))
	first, am, ak := s.Argument("a"), s.ByteArgument("am"), s.ByteArgument("ak")
	bk, bv := s.ByteArgument("bk"), s.ByteArgument("bv")
	to, tiles := s.Argument("c"), s.Argument("tiles")
	triple := s.GP64()
	if rows > 3 {
		s.LEAQ(operand.Mem{Base: am, Index: am, Scale: 2}, triple)
	}
	fours := make([]reg.Register, (rows+3)/4) // addresses of every fourth row
	for i := range fours {
		fours[i] = s.GP64()
	}
	sums, bs := s.Vectors(rows*columns), s.Vectors(columns)
	s.Label("tile")
	b, k := s.Argument("b"), s.Argument("k")
	s.MOVQ(first, fours[0])
	for i, from := range fours[:len(fours)-1] {
		s.LEAQ(operand.Mem{Base: from, Index: am, Scale: 4}, fours[i+1])
	}
	for _, v := range sums {
		s.Zero(v)
	}
	s.Label("term")
	for c, v := range bs {
		from := operand.Mem{Base: b}
		if c > 0 {
			from.Index, from.Scale = bv, uint8(c)
		}
		s.VMOVUPS(from, v)
	}
	for r := range rows {
		w := s.Vector()
		s.VBROADCASTSS(rowAddress(r%4, fours[r/4], am, triple), w)
		for c, v := range bs {
			s.MultiplyAdd(v, w, sums[r*columns+c])
		}
	}
	for _, a := range fours {
		s.ADDQ(ak, a)
	}
	s.ADDQ(bk, b)
	s.DECQ(k)
	s.JNZ(operand.LabelRef("term"))

	cm, cv, row := s.ByteArgument("cm"), s.ByteArgument("cv"), s.GP64()
	each := func(do func(v reg.VecVirtual, m operand.Mem)) {
		s.MOVQ(to, row)
		for r := range rows {
			for c := range columns {
				m := operand.Mem{Base: row}
				if c > 0 {
					m.Index, m.Scale = cv, uint8(c)
				}
				do(sums[r*columns+c], m)
			}
			s.ADDQ(cm, row)
		}
	}
	add := s.Argument("add")
	s.TESTQ(add, add)
	s.JZ(operand.LabelRef("store"))
	each(func(v reg.VecVirtual, m operand.Mem) { s.VADDPS(m, v, v) })
	s.Label("store")
	each(func(v reg.VecVirtual, m operand.Mem) { s.VMOVUPS(v, m) })
	s.MOVQ(row, to)
	for range rows {
		s.ADDQ(am, first)
	}
	s.DECQ(tiles)
	s.JNZ(operand.LabelRef("tile"))
	s.End()
}

// inner multiplies rows of a with four patches at a time: one partial sum in each
// lane until all k patches of a row are added. Each group prefetches one row of a
// beyond those in use, so that four groups prefetch the next four rows.
func (s *set) inner(rows int) {
	s.Kernel(fmt.Sprintf("inner%d", rows),
		"out *float32, pitch, groups int, a *float32, am int, p *float32, step, k int",
		fmt.Sprintf("is Inner for %d rows and groups of four patches.", rows))
	out, pitch, groups := s.Argument("out"), s.ByteArgument("pitch"), s.Argument("groups")
	first, am := s.Argument("p"), s.ByteArgument("am")
	step := s.ByteArgument("step")
	triple := s.GP64()
	if rows > 3 {
		s.LEAQ(operand.Mem{Base: am, Index: am, Scale: 2}, triple)
	}
	ahead := s.GP64()
	s.XORQ(ahead, ahead)
	for range rows {
		s.ADDQ(am, ahead)
	}
	s.Label("group")
	sums := s.Vectors(rows * dotColumns)
	for _, v := range sums {
		s.Zero(v)
	}
	a, g, k := s.Argument("a"), s.GP64(), s.Argument("k")
	s.MOVQ(first, g)
	s.Label("term")
	for at := 0; at < 4*patchFloats; at += s.Bytes() {
		as := s.Vectors(rows)
		for r, v := range as {
			m := rowAddress(r, a, am, triple)
			m.Disp = at
			s.VMOVUPS(m, v)
		}
		for i := range dotColumns {
			v := s.Vector()
			s.VMOVUPS(operand.Mem{Base: g, Disp: 4*patchFloats*i + at}, v)
			for r, w := range as {
				s.VFMADD231PS(v, w, sums[r*dotColumns+i])
			}
		}
	}
	s.PREFETCHT1(operand.Mem{Base: a, Index: ahead, Scale: 1})
	s.ADDQ(operand.I32(4*patchFloats), a)
	s.ADDQ(step, g)
	s.DECQ(k)
	s.JNZ(operand.LabelRef("term"))
	row := s.GP64()
	s.MOVQ(out, row)
	for r := range rows {
		s.VMOVUPS(s.FourSums(sums[r*dotColumns:][:dotColumns]), operand.Mem{Base: row})
		s.ADDQ(pitch, row)
	}
	s.ADDQ(operand.I32(4*dotColumns), out)
	s.ADDQ(operand.I32(4*patchFloats*dotColumns), first)
	s.ADDQ(am, ahead)
	s.DECQ(groups)
	s.JNZ(operand.LabelRef("group"))
	s.End()
}

// patches copies windows of four rows and columns, two columns or rows apart.
func (s *set) patches() {
	s.Kernel("patches", "y, x *float32, pitch, n, rows int", "is Patches.")
	y, first, pitch, rows := s.Argument("y"), s.Argument("x"), s.ByteArgument("pitch"), s.Argument("rows")
	triple := s.GP64()
	s.LEAQ(operand.Mem{Base: pitch, Index: pitch, Scale: 2}, triple)
	s.Label("row")
	x, n := s.GP64(), s.Argument("n")
	s.MOVQ(first, x)
	s.Label("patch")
	for half := range 2 {
		v := s.YMM()
		s.VMOVUPS(rowAddress(2*half, x, pitch, triple), v.AsX())
		s.VINSERTF128(operand.U8(1), rowAddress(2*half+1, x, pitch, triple), v, v)
		s.VMOVUPS(v, operand.Mem{Base: y, Disp: 32 * half})
	}
	s.ADDQ(operand.I32(8), x)
	s.ADDQ(operand.I32(4*patchFloats), y)
	s.DECQ(n)
	s.JNZ(operand.LabelRef("patch"))
	s.LEAQ(operand.Mem{Base: first, Index: pitch, Scale: 2}, first)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}

// fold adds patches where they overlap. A register holds two rows of four columns;
// the overlapping columns of neighbours are halves of its lanes.
func (s *set) fold() {
	s.Kernel("fold", "y *float32, pitch int, c *float32, n, rows int", "is Fold.")
	first, pitch, c, lines := s.Argument("y"), s.ByteArgument("pitch"), s.Argument("c"), s.Argument("rows")
	size, last, none := s.Argument("n"), s.YMM(), s.YMM()
	s.SHLQ(operand.U8(6), size) // of a row of patches in bytes
	s.Zero(none)
	y := s.GP64()
	rows := func(i int) reg.VecVirtual { // of patch i: two of the one above, two of the one below
		v := s.YMM()
		s.VMOVUPS(operand.Mem{Base: c, Index: size, Scale: 1, Disp: 4 * patchFloats * i}, v)
		s.VADDPS(operand.Mem{Base: c, Disp: 4*patchFloats*i + 32}, v, v)
		return v
	}
	store := func(one, next reg.VecVirtual) {
		left, right := s.YMM(), s.YMM()
		s.VSHUFPD(operand.U8(0x0), next, one, left)
		s.VSHUFPD(operand.U8(0xf), one, last, right)
		s.VADDPS(right, left, left)
		s.VMOVUPS(left.AsX(), operand.Mem{Base: y})
		s.VEXTRACTF128(operand.U8(1), left, operand.Mem{Base: y, Index: pitch, Scale: 1})
	}
	s.Label("row")
	n := s.Argument("n")
	s.MOVQ(first, y)
	s.VMOVAPS(none, last)
	s.Label("pair")
	s.CMPQ(n, operand.U32(2))
	s.JLT(operand.LabelRef("rest"))
	one, next := rows(0), rows(1)
	store(one, next)
	s.VMOVAPS(next, last)
	s.ADDQ(operand.I32(2*4*patchFloats), c)
	s.ADDQ(operand.I32(16), y)
	s.SUBQ(operand.U32(2), n)
	s.JMP(operand.LabelRef("pair"))
	s.Label("rest")
	s.TESTQ(n, n)
	s.JZ(operand.LabelRef("even"))
	store(rows(0), none)
	s.ADDQ(operand.I32(4*patchFloats), c)
	s.JMP(operand.LabelRef("next"))
	s.Label("even")
	store(none, none)
	s.Label("next")
	s.LEAQ(operand.Mem{Base: first, Index: pitch, Scale: 2}, first)
	s.DECQ(lines)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}
