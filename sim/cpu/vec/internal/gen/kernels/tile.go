package kernels

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tile is the convolutions' and matrix products' inner kernel. A tile of rows
// times columns vectors of y stays in registers while all k terms are added.
func (s *set) tile(rows, columns int) {
	s.function(fmt.Sprintf("tile%d", rows),
		"y *float32, pitch, n int, x *float32, segments, weights *int32, k int, w *float32, stride int",
		fmt.Sprintf("is Tile for %d rows.", rows))
	t := &tile{set: s, rows: rows,
		y: s.argument("y"), n: s.argument("n"), x: s.argument("x"),
		segments: s.argument("segments"), weights: s.argument("weights"),
		w: s.argument("w"), stride: s.byteArgument("stride")}
	t.triple = s.GP64()
	if rows > 3 {
		s.LEAQ(operand.Mem{Base: t.stride, Index: t.stride, Scale: 2}, t.triple)
	}
	s.Label("whole")
	s.CMPQ(t.n, operand.U32(uint32(columns*s.lanes)))
	s.JLT(operand.LabelRef("rest"))
	t.add("whole", columns, false)
	s.JMP(operand.LabelRef("whole"))
	s.Label("rest")
	s.TESTQ(t.n, t.n)
	s.JLE(operand.LabelRef("done"))
	s.partial(t.n)
	t.add("rest", 1, true)
	s.JMP(operand.LabelRef("rest"))
	s.Label("done")
	s.end()
}

type tile struct {
	*set
	rows              int
	y, n, x           reg.GPVirtual
	segments, weights reg.GPVirtual
	w, stride, triple reg.GPVirtual // stride in bytes, and three times that
	accumulators, xs  []reg.VecVirtual
}

// add adds all terms to the next columns vectors of each row.
func (t *tile) add(label string, columns int, masked bool) {
	t.accumulators, t.xs = t.vectors(t.rows*columns), t.vectors(columns)
	t.eachOutput(columns, func(a reg.VecVirtual, m operand.Mem) { t.load(m, a, masked) })
	i, end := t.GP64(), t.argument("k")
	t.XORQ(i, i)
	t.JMP(operand.LabelRef(label + "Test"))
	t.Label(label + "Term")
	t.term(i, columns, masked)
	t.INCQ(i)
	t.Label(label + "Test")
	t.CMPQ(i, end)
	t.JLT(operand.LabelRef(label + "Term"))
	t.eachOutput(columns, func(a reg.VecVirtual, m operand.Mem) { t.store(a, m, masked) })
	t.ADDQ(operand.I32(int32(columns*t.bytes())), t.y)
	t.ADDQ(operand.I32(int32(columns*t.bytes())), t.x)
	t.SUBQ(operand.I32(int32(columns*t.lanes)), t.n)
}

// eachOutput goes through the tile's vectors in memory.
func (t *tile) eachOutput(columns int, do func(reg.VecVirtual, operand.Mem)) {
	pitch, row := t.byteArgument("pitch"), t.GP64()
	t.MOVQ(t.y, row)
	for r := range t.rows {
		for c := range columns {
			do(t.accumulators[r*columns+c], operand.Mem{Base: row, Disp: c * t.bytes()})
		}
		if r+1 < t.rows {
			t.ADDQ(pitch, row)
		}
	}
}

// term adds w[row·stride + weights[i]]·x[segments[i] + …] to every row.
func (t *tile) term(i reg.GPVirtual, columns int, masked bool) {
	segment, weight, fourth := t.GP64(), t.GP64(), t.GP64()
	t.MOVLQSX(operand.Mem{Base: t.segments, Index: i, Scale: 4}, segment)
	t.MOVLQSX(operand.Mem{Base: t.weights, Index: i, Scale: 4}, weight)
	t.LEAQ(operand.Mem{Base: t.w, Index: weight, Scale: 4}, weight)
	if t.rows > 4 {
		t.LEAQ(operand.Mem{Base: weight, Index: t.stride, Scale: 4}, fourth)
	}
	for c, x := range t.xs {
		t.load(operand.Mem{Base: t.x, Index: segment, Scale: 4, Disp: c * t.bytes()}, x, masked)
	}
	for r := range t.rows {
		base := weight
		if r >= 4 {
			base = fourth
		}
		from := operand.Mem{Base: base}
		switch r % 4 {
		case 1, 2:
			from.Index, from.Scale = t.stride, uint8(r%4)
		case 3:
			from.Index, from.Scale = t.triple, 1
		}
		v := t.vector()
		t.VBROADCASTSS(from, v)
		for c, x := range t.xs {
			t.VFMADD231PS(x, v, t.accumulators[r*columns+c])
		}
	}
}
