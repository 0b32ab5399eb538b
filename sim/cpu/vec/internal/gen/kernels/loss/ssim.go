package loss

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	tileSide   = 16                        // of a tile of SSIM's kernels, in elements
	windowTaps = 11                        // of SSIM's window
	tileReach  = tileSide + windowTaps - 1 // rows that a tile's blur reads
	tileRow    = 4 * tileSide              // bytes
)

// ssim are the kernels of SSIM and of its gradient.
func (s *set) ssim() {
	s.ssimProducts()
	s.blurTurn()
	s.score("ssimScore", true, "SSIMScore.")
	s.score("contrastScore", false, "ContrastScore.")
	s.blurCombine()
}

// weights loads half of a symmetric window, the centre first.
func (s *set) weights(at reg.Register) []reg.VecVirtual {
	w := s.Vectors(windowTaps/2 + 1)
	for i, v := range w {
		s.VBROADCASTSS(operand.Mem{Base: at, Disp: 4 * i}, v)
	}
	return w
}

// tap is the weight of the window's element k.
func tap(w []reg.VecVirtual, k int) reg.VecVirtual {
	return w[max(k-windowTaps/2, windowTaps/2-k)]
}

// alongTile calls do with the byte offset of each vector of a tile's row.
func (s *set) alongTile(do func(at int)) {
	for at := 0; at < tileRow; at += s.Bytes() {
		do(at)
	}
}

// ssimProducts fills four tiles from rows of two planes.
func (s *set) ssimProducts() {
	s.Kernel("ssimProducts", "y, p, t *float32, rows *int32", "is SSIMProducts.")
	y, p, t, rows := s.Argument("y"), s.Argument("p"), s.Argument("t"), s.Argument("rows")
	left, row := s.GP64(), s.GP64()
	s.MOVQ(operand.U32(tileReach), left)
	s.Label("row")
	s.MOVLQSX(operand.Mem{Base: rows}, row)
	s.alongTile(func(at int) {
		u, v, square, product := s.Vector(), s.Vector(), s.Vector(), s.Vector()
		s.VMOVUPS(operand.Mem{Base: p, Index: row, Scale: 4, Disp: at}, u)
		s.VMOVUPS(operand.Mem{Base: t, Index: row, Scale: 4, Disp: at}, v)
		s.VSUBPS(v, u, square)
		s.VMULPS(square, square, square)
		s.VMULPS(u, v, product)
		for i, x := range []reg.VecVirtual{u, v, square, product} {
			s.VMOVUPS(x, operand.Mem{Base: y, Disp: i*tileReach*tileRow + at})
		}
	})
	s.ADDQ(operand.I32(tileRow), y)
	s.ADDQ(operand.I32(4), rows)
	s.DECQ(left)
	s.JNZ(operand.LabelRef("row"))
	s.End()
}

// blurred accumulates the window over rows of a tile: as many results as a vector
// has lanes, from the row at a byte offset on.
func (s *set) blurred(x reg.Register, at int, w, results []reg.VecVirtual, begun bool) {
	for i := range len(results) + windowTaps - 1 {
		v := s.Vector()
		s.VMOVUPS(operand.Mem{Base: x, Disp: at + i*tileRow}, v)
		for r := max(0, i-windowTaps+1); r <= min(i, len(results)-1); r++ {
			if i == r && !begun {
				s.VMULPS(v, tap(w, i-r), results[r])
			} else {
				s.VFMADD231PS(v, tap(w, i-r), results[r])
			}
		}
	}
}

// blurTurn blurs tiles along their columns and transposes them.
func (s *set) blurTurn() {
	s.Kernel("blurTurn", "y *float32, yStep int, x *float32, xStep, tiles int, window *float32", "is BlurTurn.")
	y, x, tiles, window := s.Argument("y"), s.Argument("x"), s.Argument("tiles"), s.Argument("window")
	yStep, xStep := s.ByteArgument("yStep"), s.ByteArgument("xStep")
	s.Label("tile")
	for row := 0; row < tileSide; row += s.Lanes {
		s.alongTile(func(at int) {
			results := s.Vectors(s.Lanes)
			s.blurred(x, row*tileRow+at, s.weights(window), results, false)
			for i, v := range s.turned(results) {
				s.VMOVUPS(v, operand.Mem{Base: y, Disp: (at/4+i)*tileRow + 4*row})
			}
		})
	}
	s.ADDQ(yStep, y)
	s.ADDQ(xStep, x)
	s.DECQ(tiles)
	s.JNZ(operand.LabelRef("tile"))
	s.End()
}

// turned transposes a square of float32 in registers.
func (s *set) turned(v []reg.VecVirtual) []reg.VecVirtual {
	n := len(v)
	pairs, fours := make([]reg.VecVirtual, n), make([]reg.VecVirtual, n)
	for i := 0; i < n; i += 2 {
		pairs[i], pairs[i+1] = s.Vector(), s.Vector()
		s.VUNPCKLPS(v[i+1], v[i], pairs[i])
		s.VUNPCKHPS(v[i+1], v[i], pairs[i+1])
	}
	// fours[i+c] has column c, c+4, … of rows i to i+3, one in each 16 bytes.
	for i := 0; i < n; i += 4 {
		for c := range 4 {
			low, high := pairs[i+c/2], pairs[i+2+c/2]
			fours[i+c] = s.Vector()
			if c%2 == 0 {
				s.VUNPCKLPD(high, low, fours[i+c])
			} else {
				s.VUNPCKHPD(high, low, fours[i+c])
			}
		}
	}
	columns := make([]reg.VecVirtual, n)
	for c := range 4 {
		if !s.Wide {
			columns[c], columns[c+4] = s.Vector(), s.Vector()
			s.VPERM2F128(operand.U8(0x20), fours[4+c], fours[c], columns[c])
			s.VPERM2F128(operand.U8(0x31), fours[4+c], fours[c], columns[c+4])
			continue
		}
		for half, lanes := range []uint8{0x88, 0xdd} {
			a, b := s.Vector(), s.Vector()
			s.VSHUFF32X4(operand.U8(lanes), fours[4+c], fours[c], a)
			s.VSHUFF32X4(operand.U8(lanes), fours[12+c], fours[8+c], b)
			first := c + 4*half
			columns[first], columns[first+8] = s.Vector(), s.Vector()
			s.VSHUFF32X4(operand.U8(0x88), b, a, columns[first])
			s.VSHUFF32X4(operand.U8(0xdd), b, a, columns[first+8])
		}
	}
	return columns
}

// scored is the state of a kernel that scores columns of a strip.
type scored struct {
	*set
	full              bool
	y, x, window      reg.GPVirtual
	yStep, xStep      reg.GPVirtual
	sums              []reg.VecVirtual // of each vector of a column
	c1, c2, two, half operand.Mem      // vectors of constants
}

// score blurs four moments along a strip and computes each element's value and
// derivatives from them.
func (s *set) score(name string, full bool, doc string) {
	s.Kernel(name, "y *float32, yStep int, x *float32, xStep, n int, window, sums *float32",
		"is "+doc)
	k := &scored{set: s, full: full, y: s.Argument("y"), x: s.Argument("x"), window: s.Argument("window"),
		yStep: s.ByteArgument("yStep"), xStep: s.ByteArgument("xStep"), sums: s.Vectors(tileSide / s.Lanes)}
	k.c1, k.c2 = s.constant(name+"C1", 1e-4), s.constant(name+"C2", 9e-4)
	k.two, k.half = s.constant(name+"Two", 2), s.constant(name+"Half", -0.5)
	n := s.Argument("n")
	for _, v := range k.sums {
		s.Zero(v)
	}
	if s.Wide {
		const block = 4
		s.Label("block")
		s.CMPQ(n, operand.U32(block))
		s.JLT(operand.LabelRef("rest"))
		k.columns(block)
		s.SUBQ(operand.U8(block), n)
		s.JMP(operand.LabelRef("block"))
	}
	s.Label("rest")
	s.TESTQ(n, n)
	s.JLE(operand.LabelRef("done"))
	k.columns(1)
	s.DECQ(n)
	s.JMP(operand.LabelRef("rest"))
	s.Label("done")
	sums := s.Argument("sums")
	for i, v := range k.sums {
		s.VMOVUPS(v, operand.Mem{Base: sums, Disp: i * s.Bytes()})
	}
	s.End()
}

// constant is a vector in memory with equal elements.
func (s *set) constant(name string, v float32) operand.Mem {
	return s.Words(name+s.Suffix, func(int) uint32 { return math.Float32bits(v) }, s.Lanes)
}

// columns scores the next columns of the strip: all their vectors at once, or, where registers are few, one by one.
func (k *scored) columns(count int) {
	triple := k.GP64()
	k.LEAQ(operand.Mem{Base: k.xStep, Index: k.xStep, Scale: 2}, triple)
	var at []int
	for c := range count {
		k.alongTile(func(half int) { at = append(at, c*tileRow+half) })
	}
	if k.Wide {
		k.vectors(at, count, triple)
	} else {
		for i := range at {
			k.vectors(at[i:i+1], 1, triple)
		}
	}
	k.ADDQ(operand.I32(int32(count*tileRow)), k.x)
	k.ADDQ(operand.I32(int32(count*tileRow)), k.y)
}

// vectors scores vectors of count columns at byte offsets from the strip's next column on.
func (k *scored) vectors(at []int, count int, triple reg.GPVirtual) {
	moments, w := make([][]reg.VecVirtual, 4), k.weights(k.window)
	for m := range moments {
		moments[m] = k.Vectors(len(at))
	}
	for i := range count + windowTaps - 1 {
		for m, results := range moments {
			from := operand.Mem{Base: k.x, Disp: at[0] + i*tileRow}
			switch m {
			case 1, 2:
				from.Index, from.Scale = k.xStep, uint8(m)
			case 3:
				from.Index, from.Scale = triple, 1
			}
			k.blurredAlong(from, i, count, w, results)
		}
	}
	// Two at a time, because the steps of each form a dependency chain.
	for i := 0; i < len(at); i += 2 {
		var steps [][]func()
		for j := i; j < min(i+2, len(at)); j++ {
			steps = append(steps, k.element(at[j], moments[0][j], moments[1][j], moments[2][j], moments[3][j]))
		}
		for step := range steps[0] {
			for _, element := range steps {
				element[step]()
			}
		}
	}
}

// blurredAlong adds column i of a strip to those windows of count columns that
// contain it; each vector is loaded once.
func (k *scored) blurredAlong(from operand.Mem, i, count int, w, results []reg.VecVirtual) {
	perColumn := len(results) / count
	for h := range perColumn {
		v := k.Vector()
		k.VMOVUPS(from.Offset(h*k.Bytes()), v)
		for c := max(0, i-windowTaps+1); c <= min(i, count-1); c++ {
			if i == c {
				k.VMULPS(v, tap(w, i-c), results[c*perColumn+h])
			} else {
				k.VFMADD231PS(v, tap(w, i-c), results[c*perColumn+h])
			}
		}
	}
}

// element computes values and derivatives from a vector of blurred p, t, (p−t)² and
// p·t, step by step; see ssimElement and contrastElement.
func (k *scored) element(at int, p, t, square, product reg.VecVirtual) []func() {
	d, a2, b2, inverse, value := k.Vector(), k.Vector(), k.Vector(), k.Vector(), k.Vector()
	variances := []func(){ // σpt in product, σd² in square
		func() { k.VFNMADD231PS(p, t, product) },
		func() { k.VSUBPS(t, p, d) },
		func() { k.VMULPS(d, d, d) },
		func() { k.VADDPS(product, product, a2) },
		func() { k.VSUBPS(d, square, square) },
		func() { k.VADDPS(k.c2, a2, a2) },
		func() { k.VMOVUPS(k.two, inverse) },
		func() { k.VADDPS(square, a2, b2) },
	}
	if k.full {
		return append(variances, k.ssimElement(at, p, t, square, product, d, a2, b2, inverse, value)...)
	}
	return append(variances,
		func() { k.VDIVPS(b2, inverse, inverse) },
		func() { k.VMULPS(a2, inverse, value) },
		func() { k.accumulate(at, square, inverse) },
		func() { k.VMULPS(k.half, value, value) },
		func() { k.VFNMSUB213PS(t, value, p) },
		func() { k.VMULPS(inverse, value, square) },
		func() { k.VMULPS(inverse, p, p) },
		func() { k.keep(at, p, square, inverse) },
	)
}

// ssimElement is element for the full SSIM.
func (k *scored) ssimElement(at int, p, t, square, product, d, a2, b2, inverse, value reg.VecVirtual) []func() {
	a1, b1, both := k.Vector(), k.Vector(), k.Vector()
	return []func(){
		func() { k.VMULPS(p, t, a1) },
		func() { k.VADDPS(a1, a1, a1) },
		func() { k.VADDPS(k.c1, a1, a1) },
		func() { k.VADDPS(d, a1, b1) },
		func() { k.VMULPS(b1, b2, both) },
		func() { k.VDIVPS(both, inverse, inverse) },
		func() { k.VMULPS(b2, d, d) },
		func() { k.VFMADD231PS(a1, square, d) },
		func() { k.VSUBPS(b2, b1, b2) },
		func() { k.VMULPS(b2, p, p) },
		func() { k.VSUBPS(a1, a2, b2) },
		func() { k.VMULPS(b2, t, t) },
		func() { k.VMULPS(a1, inverse, product) },
		func() { k.accumulate(at, d, inverse) },
		func() { k.VMULPS(a2, product, value) },
		func() { k.VMULPS(k.half, value, value) },
		func() { k.VFNMADD231PS(p, value, t) },
		func() { k.VMULPS(b1, value, square) },
		func() { k.VMULPS(inverse, t, t) },
		func() { k.VMULPS(inverse, square, square) },
		func() { k.keep(at, t, square, product) },
	}
}

// keep writes an element's derivatives.
func (k *scored) keep(at int, mean, square, product reg.VecVirtual) {
	k.VMOVUPS(mean, operand.Mem{Base: k.y, Disp: at})
	k.VMOVUPS(square, operand.Mem{Base: k.y, Index: k.yStep, Scale: 1, Disp: at})
	k.VMOVUPS(product, operand.Mem{Base: k.y, Index: k.yStep, Scale: 2, Disp: at})
}

// accumulate adds a·b to the sums.
func (k *scored) accumulate(at int, a, b reg.VecVirtual) {
	k.VFMADD231PS(a, b, k.sums[at%tileRow/k.Bytes()])
}

// blurCombine blurs three maps along their columns and combines them into the
// gradient.
func (s *set) blurCombine() {
	s.Kernel("blurCombine", "y *float32, pitch int, p, t, maps *float32, step int, window *float32, factor float32",
		"is BlurCombine.")
	y, p, t, window := s.Argument("y"), s.Argument("p"), s.Argument("t"), s.Argument("window")
	pitch, step, means := s.ByteArgument("pitch"), s.ByteArgument("step"), s.Argument("maps")
	squares, products := s.GP64(), s.GP64()
	s.LEAQ(operand.Mem{Base: means, Index: step, Scale: 1}, squares)
	s.LEAQ(operand.Mem{Base: means, Index: step, Scale: 2}, products)
	offset := s.GP64()
	for row := 0; row < tileSide; row += s.Lanes {
		s.alongTile(func(at int) {
			from, results := row*tileRow+at, s.Vectors(s.Lanes)
			each := func(do func(v reg.VecVirtual)) {
				s.XORQ(offset, offset)
				if row > 0 {
					s.LEAQ(operand.Mem{Base: offset, Index: pitch, Scale: uint8(row)}, offset)
				}
				for _, v := range results {
					do(v)
					s.ADDQ(pitch, offset)
				}
			}
			here := func(plane reg.Register) operand.Mem {
				return operand.Mem{Base: plane, Index: offset, Scale: 1, Disp: at}
			}
			w := s.weights(window)
			s.blurred(squares, from, w, results, false)
			each(func(v reg.VecVirtual) { s.VMULPS(here(p), v, v) })
			s.blurred(means, from, w, results, true)
			each(func(v reg.VecVirtual) { s.VMOVUPS(v, here(y)) })
			s.blurred(products, from, w, results, false)
			factor := s.Factor("factor")
			each(func(v reg.VecVirtual) {
				u := s.Vector()
				s.VMOVUPS(here(y), u)
				s.VFMADD231PS(here(t), v, u)
				s.VMULPS(factor, u, u)
				s.VMOVUPS(u, here(y))
			})
		})
	}
	s.End()
}
