package conv

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// shape is a tile held in registers: rows by columns vectors.
type shape struct{ rows, columns int }

// tiles writes kernels for tiles of all heights.
func (s *set) tiles() {
	shapes := []shape{{8, 2}, {4, 4}, {2, 4}, {1, 8}}
	if !s.Wide {
		shapes = []shape{{4, 3}, {2, 4}, {1, 8}}
	}
	for _, t := range shapes {
		s.tile(t.rows, t.columns)
	}
}

// tile is the convolutions' and matrix products' inner kernel. A tile of rows
// times columns vectors of y stays in registers while all k terms are added.
func (s *set) tile(rows, columns int) {
	s.Kernel(fmt.Sprintf("tile%d", rows),
		"y *float32, pitch, n int, x *float32, segments, weights *int32, k int, w *float32, stride int",
		fmt.Sprintf("is Tile for %d rows.", rows))
	t := &tile{set: s, rows: rows,
		y: s.Argument("y"), n: s.Argument("n"), x: s.Argument("x"),
		segments: s.Argument("segments"), weights: s.Argument("weights"),
		w: s.Argument("w"), stride: s.ByteArgument("stride")}
	t.triple = s.GP64()
	if rows > 3 {
		s.LEAQ(operand.Mem{Base: t.stride, Index: t.stride, Scale: 2}, t.triple)
	}
	s.Label("whole")
	s.CMPQ(t.n, operand.U32(uint32(columns*s.Lanes)))
	s.JLT(operand.LabelRef("rest"))
	t.add("whole", columns, false)
	s.JMP(operand.LabelRef("whole"))
	s.Label("rest")
	s.TESTQ(t.n, t.n)
	s.JLE(operand.LabelRef("done"))
	s.Partial(t.n)
	t.add("rest", 1, true)
	s.JMP(operand.LabelRef("rest"))
	s.Label("done")
	s.End()
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
	t.accumulators, t.xs = t.Vectors(t.rows*columns), t.Vectors(columns)
	t.eachOutput(columns, func(a reg.VecVirtual, m operand.Mem) { t.LoadVector(m, a, masked) })
	i, end := t.GP64(), t.Argument("k")
	t.XORQ(i, i)
	t.JMP(operand.LabelRef(label + "Test"))
	t.Label(label + "Term")
	t.term(i, columns, masked)
	t.INCQ(i)
	t.Label(label + "Test")
	t.CMPQ(i, end)
	t.JLT(operand.LabelRef(label + "Term"))
	t.eachOutput(columns, func(a reg.VecVirtual, m operand.Mem) { t.StoreVector(a, m, masked) })
	t.ADDQ(operand.I32(int32(columns*t.Bytes())), t.y)
	t.ADDQ(operand.I32(int32(columns*t.Bytes())), t.x)
	t.SUBQ(operand.I32(int32(columns*t.Lanes)), t.n)
}

// eachOutput goes through the tile's vectors in memory.
func (t *tile) eachOutput(columns int, do func(reg.VecVirtual, operand.Mem)) {
	pitch, row := t.ByteArgument("pitch"), t.GP64()
	t.MOVQ(t.y, row)
	for r := range t.rows {
		for c := range columns {
			do(t.accumulators[r*columns+c], operand.Mem{Base: row, Disp: c * t.Bytes()})
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
	xs := make([]operand.Op, columns)
	for c, x := range t.xs {
		from := operand.Mem{Base: t.x, Index: segment, Scale: 4, Disp: c * t.Bytes()}
		if t.rows == 1 && !t.Wide && !masked { // from memory, since eight and their sums need all the registers
			xs[c] = from
			continue
		}
		t.LoadVector(from, x, masked)
		xs[c] = x
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
		v := t.Vector()
		t.VBROADCASTSS(from, v)
		for c, x := range xs {
			t.VFMADD231PS(x, v, t.accumulators[r*columns+c])
		}
	}
}
