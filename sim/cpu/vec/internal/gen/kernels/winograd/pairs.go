package winograd

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"prismtop/sim/cpu/vec/internal/gen/kernels/asm"
)

// tileRuns is the number of runs of a vector of tiles, 2 or 4. An entry of a list of tiles has their positions in an
// input plane and in an output plane, and masks for each row; see PairTiles in vec/winograd.
type tileRuns int

func (r tileRuns) in(run int) int  { return 8 * run }
func (r tileRuns) out(run int) int { return 8 * (int(r) + run) }
func (r tileRuns) mask(row, side, run int) int {
	return 16*int(r) + 8*row + 4*side + 4/int(r)*run
}
func (r tileRuns) bytes() int32 { return 8 * (2*int32(r) + 4) }

// winogradPairs are the kernels of Winograd's F(2×2, 3×3) on pairs of bfloat16.
func (s *set) winogradPairs() {
	if !s.Wide {
		return
	}
	p := s.pairsOf()
	p.pairTilesIn(2)
	p.pairTilesIn(4)
	for columns := 3; columns > 0; columns-- {
		p.pairTilesMultiply(columns)
	}
	p.pairTilesOut(2, false)
	p.pairTilesOut(2, true)
	p.pairTilesOut(4, false)
}

// interleaving is the order of 16-bit lanes in which those of the upper half follow those of the lower one by one.
func (s *set) interleaving(name string) reg.VecVirtual {
	v := s.Vector()
	s.VMOVUPS(s.Words(name, func(i int) uint32 { return uint32(i) | uint32(16+i)<<16 }, 16), v)
	return v
}

// together returns pairs of the lanes of two vectors, rounded.
func (s *set) together(first, second, order reg.VecVirtual) reg.VecVirtual {
	v := s.Vector()
	s.VPMADDWD(first, second, v) // stands for VCVTNE2PS2BF16
	s.VPERMW(v, order, v)
	return v
}

// pairTilesIn transforms a list of vectors of tiles of pairs of planes.
func (s *set) pairTilesIn(runs tileRuns) {
	s.Kernel(fmt.Sprintf("pairTilesIn%d", runs),
		"v *float32, kStep int, first, second *uint16, planes int, row int, list *int64, vectors, pairs int",
		"transforms the inputs of tiles; see pairTilesIn.")
	to, first, second, list := s.Argument("v"), s.Argument("first"), s.Argument("second"), s.Argument("list")
	step, triple, row, thrice := s.ByteArgument("kStep"), s.GP64(), s.Argument("row"), s.GP64()
	s.SHLQ(operand.U8(1), row)
	s.LEAQ(operand.Mem{Base: step, Index: step, Scale: 2}, triple)
	s.LEAQ(operand.Mem{Base: row, Index: row, Scale: 2}, thrice)
	high, order := s.Word(0xffff0000), s.interleaving(fmt.Sprintf("insideOut%d", runs))

	s.Label("pair")
	left := s.Argument("vectors")
	s.Label("vector")
	raw := s.tileLoads(runs, list, first, second, row, thrice)
	at := s.GP64()
	s.MOVQ(to, at)
	for i, from := range [4]struct {
		p, q int
		add  bool
	}{{0, 2, false}, {1, 2, true}, {2, 1, false}, {1, 3, false}} {
		var lines [2][4]reg.VecVirtual
		for channel := range lines {
			var u [4]reg.VecVirtual
			for c := range u {
				p, q := s.Vector(), s.Vector()
				for _, x := range [2]struct {
					row int
					to  reg.VecVirtual
				}{{from.p, p}, {from.q, q}} {
					if c%2 == 0 {
						s.VPSLLD(operand.U8(16), raw[channel][x.row][c/2], x.to)
					} else {
						s.VPANDD(high, raw[channel][x.row][c/2], x.to)
					}
				}
				if from.add {
					s.VADDPS(q, p, p)
				} else {
					s.VSUBPS(q, p, p)
				}
				u[c] = p
			}
			lines[channel] = s.pairTileLine(u)
		}
		for j := range 4 {
			v := s.together(lines[0][j], lines[1][j], order)
			m := operand.Mem{Base: at}
			switch j {
			case 1, 2:
				m.Index, m.Scale = step, uint8(j)
			case 3:
				m.Index, m.Scale = triple, 1
			}
			s.VMOVUPS(v, m)
		}
		if i < 3 {
			s.LEAQ(operand.Mem{Base: at, Index: step, Scale: 4}, at)
		}
	}
	s.ADDQ(operand.I32(64), to)
	s.ADDQ(operand.I32(runs.bytes()), list)
	s.DECQ(left)
	s.JNZ(operand.LabelRef("vector"))
	s.MOVQ(s.ArgumentAddress("list"), list)
	planes := s.Argument("planes")
	s.LEAQ(operand.Mem{Base: first, Index: planes, Scale: 2}, first)
	s.LEAQ(operand.Mem{Base: second, Index: planes, Scale: 2}, second)
	s.DECQ(s.ArgumentAddress("pairs"))
	s.JNZ(operand.LabelRef("pair"))
	s.End()
}

// pairTileLine computes d0−d2, d1+d2, d2−d1 and d1−d3.
func (s *set) pairTileLine(d [4]reg.VecVirtual) (t [4]reg.VecVirtual) {
	for i := range t {
		t[i] = s.Vector()
	}
	s.VSUBPS(d[2], d[0], t[0])
	s.VADDPS(d[2], d[1], t[1])
	s.VSUBPS(d[1], d[2], t[2])
	s.VSUBPS(d[3], d[1], t[3])
	return t
}

// tileLoads reads the pairs of columns −1 and 0, and of columns 1 and 2, of four rows of sixteen tiles in two planes.
func (s *set) tileLoads(runs tileRuns, list, first, second, row, thrice reg.GPVirtual) (raw [2][4][2]reg.VecVirtual) {
	for run := range int(runs) {
		var from [2]reg.GPVirtual
		for channel, plane := range []reg.GPVirtual{first, second} {
			from[channel] = s.GP64()
			s.MOVQ(operand.Mem{Base: list, Disp: runs.in(run)}, from[channel])
			s.ADDQ(plane, from[channel])
			s.SUBQ(row, from[channel])
		}
		for r := range 4 {
			for side := range 2 {
				k := s.K()
				mask := operand.Mem{Base: list, Disp: runs.mask(r, side, run)}
				if runs == 2 {
					s.KMOVW(mask, k)
				} else {
					s.KMOVB(mask, k)
				}
				for channel := range raw {
					m := operand.Mem{Base: from[channel], Disp: 4*side - 2}
					switch r {
					case 1, 2:
						m.Index, m.Scale = row, uint8(r)
					case 3:
						m.Index, m.Scale = thrice, 1
					}
					if run == 0 {
						raw[channel][r][side] = s.Vector()
					}
					v := raw[channel][r][side]
					switch {
					case run == 0 && runs == 2:
						s.VMOVDQU16_Z(m, k, v.AsY())
					case run == 0:
						s.VMOVDQU16_Z(m, k, v.AsX())
					case runs == 2:
						other := s.YMM()
						s.VMOVDQU16_Z(m, k, other)
						s.VINSERTI64X4(operand.U8(1), other, v, v)
					default:
						other := s.XMM()
						s.VMOVDQU16_Z(m, k, other)
						s.VINSERTI32X4(operand.U8(uint8(run)), other, v, v)
					}
				}
			}
		}
	}
	return raw
}

// pairTilesMultiply adds the products of all pairs of channels, for sixteen positions in the tiles.
func (s *set) pairTilesMultiply(columns int) {
	const outputs = 8
	s.Kernel(fmt.Sprintf("pairTilesMultiply%d", columns), "m, v, u *float32, pairs, positions int",
		fmt.Sprintf("multiplies %d vectors of tiles; see pairTilesMultiply.", columns))
	m, v, u, positions := s.Argument("m"), s.Argument("v"), s.Argument("u"), s.Argument("positions")
	sums := s.Vectors(outputs * columns)
	s.Label("position")
	for _, x := range sums {
		s.Zero(x)
	}
	pairs := s.Argument("pairs")
	s.Label("pair")
	xs := s.Vectors(columns)
	for c, x := range xs {
		s.VMOVUPS(operand.Mem{Base: v, Disp: 64 * c}, x)
	}
	for o := range outputs {
		w := s.Vector()
		s.VBROADCASTSS(operand.Mem{Base: u, Disp: 4 * o}, w)
		for c, x := range xs {
			s.MultiplyAdd(x, w, sums[o*columns+c])
		}
	}
	s.ADDQ(operand.I32(int32(64*columns)), v)
	s.ADDQ(operand.I32(4*outputs), u)
	s.DECQ(pairs)
	s.JNZ(operand.LabelRef("pair"))
	for i, x := range sums {
		s.VMOVUPS(x, operand.Mem{Base: m, Disp: 64 * i})
	}
	s.ADDQ(operand.I32(int32(64*outputs*columns)), m)
	s.DECQ(positions)
	s.JNZ(operand.LabelRef("position"))
	s.End()
}

// pairTilesOut transforms the products of eight channels back and stores them, or the largest of each tile.
func (s *set) pairTilesOut(runs tileRuns, pooled bool) {
	name := "pairTilesOut"
	if pooled {
		name = "pairTilesPool"
	}
	s.Kernel(fmt.Sprintf("%s%d", name, runs),
		"y *uint16, plane, row int, m *float32, list *int64, vectors int, bias *float32, relu int",
		"transforms the products of tiles; see pairTilesOut.")
	y, row, m, list := s.Argument("y"), s.Argument("row"), s.Argument("m"), s.Argument("list")
	s.SHLQ(operand.U8(1), row)
	step, four, twelve := s.Argument("vectors"), s.GP64(), s.GP64()
	s.SHLQ(operand.U8(9), step) // eight channels
	s.MOVQ(step, four)
	s.SHLQ(operand.U8(2), four)
	s.LEAQ(operand.Mem{Base: four, Index: four, Scale: 2}, twelve)
	bias, least, order := s.Vector(), s.Vector(), reg.VecVirtual(nil)
	if !pooled {
		order = s.interleaving(fmt.Sprintf("besideEachOther%d", runs))
	}
	// The smallest value is 0 with a ReLU.
	relu := s.Argument("relu")
	s.Zero(least)
	s.TESTQ(relu, relu)
	s.JNZ(operand.LabelRef("rectified"))
	s.VPSUBD(s.Word(0x00800000), least, least) // −∞
	s.Label("rectified")
	channels, biases := s.GP64(), s.Argument("bias")
	s.MOVQ(operand.U32(8), channels)

	s.Label("channel")
	s.VBROADCASTSS(operand.Mem{Base: biases}, bias)
	s.ADDQ(operand.I32(4), biases)
	left := s.Argument("vectors")
	s.Label("vector")
	var lines [2][4]reg.VecVirtual
	from := s.GP64()
	s.MOVQ(m, from)
	for j := range 4 {
		b, c, sum, difference := s.Vector(), s.Vector(), s.Vector(), s.Vector()
		s.VMOVUPS(operand.Mem{Base: from, Index: four, Scale: 1}, b)
		s.VMOVUPS(operand.Mem{Base: from, Index: four, Scale: 2}, c)
		if j == 1 {
			s.VADDPS(bias, b, b)
		}
		s.VADDPS(b, c, sum)
		s.VSUBPS(c, b, difference)
		s.VADDPS(operand.Mem{Base: from}, sum, sum)
		s.VSUBPS(operand.Mem{Base: from, Index: twelve, Scale: 1}, difference, difference)
		lines[0][j], lines[1][j] = sum, difference
		if j < 3 {
			s.ADDQ(step, from)
		}
	}
	var results [2][2]reg.VecVirtual
	for i, t := range lines {
		sum, difference := s.Vector(), s.Vector()
		s.VADDPS(t[2], t[1], sum)
		s.VSUBPS(t[2], t[1], difference)
		s.VADDPS(t[0], sum, sum)
		s.VSUBPS(t[3], difference, difference)
		results[i] = [2]reg.VecVirtual{sum, difference}
	}
	if pooled {
		s.storePooled(runs, results, least, y, list)
	} else {
		for i, pair := range results {
			for _, v := range pair {
				s.VMAXPS(v, least, v) // a NaN stays one
			}
			v := s.together(pair[0], pair[1], order)
			for run := range int(runs) {
				to := s.GP64()
				s.MOVQ(operand.Mem{Base: list, Disp: runs.out(run)}, to)
				s.ADDQ(y, to)
				at := operand.Mem{Base: to}
				if i == 1 {
					at.Index, at.Scale = row, 1
				}
				switch {
				case run == 0 && runs == 2:
					s.VMOVDQU16(v.AsY(), at)
				case run == 0:
					s.VMOVDQU16(v.AsX(), at)
				case runs == 2:
					s.VEXTRACTI64X4(operand.U8(1), v, at)
				default:
					s.VEXTRACTI32X4(operand.U8(uint8(run)), v, at)
				}
			}
		}
	}
	s.ADDQ(operand.I32(64), m)
	s.ADDQ(operand.I32(runs.bytes()), list)
	s.DECQ(left)
	s.JNZ(operand.LabelRef("vector"))
	s.MOVQ(s.ArgumentAddress("list"), list)
	plane := s.Argument("plane")
	s.LEAQ(operand.Mem{Base: y, Index: plane, Scale: 2}, y)
	s.DECQ(channels)
	s.JNZ(operand.LabelRef("channel"))
	s.End()
}

// storePooled stores the largest result of each tile.
func (s *set) storePooled(runs tileRuns, results [2][2]reg.VecVirtual, least reg.VecVirtual, y, list reg.GPVirtual) {
	nan, other := s.K(), s.K()
	s.VCMPPS(operand.U8(asm.Unordered), results[0][0], results[0][1], nan)
	s.VCMPPS(operand.U8(asm.Unordered), results[1][0], results[1][1], other)
	s.KORW(other, nan, nan)
	v := results[0][0]
	for _, u := range []reg.VecVirtual{results[0][1], results[1][0], results[1][1]} {
		s.VMAXPS(u, v, v)
	}
	s.VMAXPS(v, least, v)
	s.VPORD(s.Word(0x7fc00000), v, nan, v)
	half := s.YMM()
	s.VCVTUQQ2PS(v, half)
	for run := range int(runs) {
		to := s.GP64()
		s.MOVQ(operand.Mem{Base: list, Disp: runs.out(run)}, to)
		s.ADDQ(y, to)
		if run == 0 {
			s.VMOVDQU16(half.AsX(), operand.Mem{Base: to})
		} else {
			s.VEXTRACTI32X4(operand.U8(1), half, operand.Mem{Base: to})
		}
	}
}
