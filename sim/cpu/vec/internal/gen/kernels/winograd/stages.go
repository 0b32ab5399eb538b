package winograd

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A line is a sum of terms: coefficients of values by their index.
type line []term

type term struct {
	factor float32
	value  int
}

// stage is a one-dimensional transform of in values: sums of them, which follow the
// values, and the results.
type stage struct {
	name  string
	in    int
	sums  []line
	lines []line
}

// winogradStages are the transforms of F(2×2, 3×3) and of F(4×4, 3×3), in which values
// that results share are computed once.
var winogradStages = []stage{
	{"Tile2", 4, nil, []line{{{1, 0}, {-1, 2}}, {{1, 1}, {1, 2}}, {{1, 2}, {-1, 1}}, {{1, 1}, {-1, 3}}}},
	{"Products2", 4, nil, []line{{{1, 0}, {1, 1}, {1, 2}}, {{1, 1}, {-1, 2}, {-1, 3}}}},
	{"Kernel2", 3, []line{{{0.5, 0}, {0.5, 2}}}, []line{{{1, 0}}, {{1, 3}, {0.5, 1}}, {{1, 3}, {-0.5, 1}}, {{1, 2}}}},
	{"Upstream2", 2, nil, []line{{{1, 0}}, {{1, 0}, {1, 1}}, {{1, 0}, {-1, 1}}, {{-1, 1}}}},
	{"Gradient2", 4, []line{{{1, 1}, {1, 2}}, {{1, 1}, {-1, 2}}}, []line{{{1, 0}, {0.5, 4}}, {{0.5, 5}}, {{1, 3}, {0.5, 4}}}},

	{"Tile4", 6, []line{{{1, 4}, {-4, 2}}, {{1, 3}, {-4, 1}}, {{1, 4}, {-1, 2}}, {{1, 3}, {-1, 1}}},
		[]line{{{1, 4}, {4, 0}, {-5, 2}}, {{1, 6}, {1, 7}}, {{1, 6}, {-1, 7}}, {{1, 8}, {2, 9}}, {{1, 8}, {-2, 9}},
			{{1, 5}, {4, 1}, {-5, 3}}}},
	{"Products4", 6, []line{{{1, 1}, {1, 2}}, {{1, 1}, {-1, 2}}, {{1, 3}, {1, 4}}, {{1, 3}, {-1, 4}}},
		[]line{{{1, 0}, {1, 6}, {1, 8}}, {{1, 7}, {2, 9}}, {{1, 6}, {4, 8}}, {{1, 7}, {1, 5}, {8, 9}}}},
	{"Kernel4", 3, []line{{{-1. / 6, 0}, {-1. / 6, 2}}, {{1. / 24, 0}, {1. / 6, 2}}},
		[]line{{{0.25, 0}}, {{1, 3}, {-1. / 6, 1}}, {{1, 3}, {1. / 6, 1}}, {{1, 4}, {1. / 12, 1}},
			{{1, 4}, {-1. / 12, 1}}, {{1, 2}}}},
	{"Upstream4", 4, []line{{{1, 0}, {1, 2}}, {{1, 1}, {1, 3}}, {{1, 0}, {4, 2}}, {{2, 1}, {8, 3}}},
		[]line{{{1, 0}}, {{1, 4}, {1, 5}}, {{1, 4}, {-1, 5}}, {{1, 6}, {1, 7}}, {{1, 6}, {-1, 7}}, {{1, 3}}}},
	{"Gradient4", 6, []line{{{1, 1}, {1, 2}}, {{1, 2}, {-1, 1}}, {{1, 3}, {1, 4}}, {{1, 3}, {-1, 4}}},
		[]line{{{0.25, 0}, {-1. / 6, 6}, {1. / 24, 8}}, {{1. / 6, 7}, {1. / 12, 9}},
			{{1, 5}, {-1. / 6, 6}, {1. / 6, 8}}}},
}

func (s *set) winogradTiles() {
	for _, t := range winogradStages {
		s.winogradStage(t)
	}
}

// winogradStage transforms the columns of a tile and then the rows. The columns' results
// stay in registers if they fit.
func (s *set) winogradStage(t stage) {
	s.Kernel("winograd"+t.name,
		"y *float32, yRow, yPixel, yStep int, x *float32, xRow, xPixel, xStep, n int, scratch *float32",
		fmt.Sprintf("is Transform for tiles of %s×%[1]s outputs.", t.name[len(t.name)-1:]))
	y, yRow, yPixel := s.Argument("y"), s.ByteArgument("yRow"), s.ByteArgument("yPixel")
	x, xRow, xPixel := s.Argument("x"), s.ByteArgument("xRow"), s.ByteArgument("xPixel")
	yStep, xStep, n, scratch := s.ByteArgument("yStep"), s.ByteArgument("xStep"), s.Argument("n"), s.Argument("scratch")
	factors := map[float32]reg.VecVirtual{}
	for _, l := range append(append([]line{}, t.sums...), t.lines...) {
		for _, v := range l {
			if f := max(v.factor, -v.factor); f != 1 && factors[f] == nil {
				factors[f] = s.broadcast(f)
			}
		}
	}
	out := len(t.lines)
	kept := s.Wide && t.in*out <= 16
	var between []reg.VecVirtual
	if kept {
		between = s.Vectors(t.in * out)
	}
	place := func(i, j int) operand.Mem { return operand.Mem{Base: scratch, Disp: (i*t.in + j) * s.Bytes()} }
	s.Label("tile")
	column, at := s.GP64(), s.GP64()
	s.MOVQ(x, column)
	for j := range t.in {
		s.MOVQ(column, at)
		d := s.Vectors(t.in)
		for i := range d {
			s.VMOVUPS(operand.Mem{Base: at}, d[i])
			if i < t.in-1 {
				s.ADDQ(xRow, at)
			}
		}
		s.lines(t, d, factors, func(i int, v reg.VecVirtual) {
			if kept {
				s.VMOVAPS(v, between[i*t.in+j])
			} else {
				s.VMOVUPS(v, place(i, j))
			}
		})
		s.ADDQ(xPixel, column)
	}
	s.MOVQ(y, column)
	for i := range out {
		s.MOVQ(column, at)
		d := make([]reg.VecVirtual, t.in)
		for j := range d {
			if kept {
				d[j] = between[i*t.in+j]
				continue
			}
			d[j] = s.Vector()
			s.VMOVUPS(place(i, j), d[j])
		}
		s.lines(t, d, factors, func(j int, v reg.VecVirtual) {
			s.VMOVUPS(v, operand.Mem{Base: at})
			if j < out-1 {
				s.ADDQ(yPixel, at)
			}
		})
		s.ADDQ(yRow, column)
	}
	s.ADDQ(xStep, x)
	s.ADDQ(yStep, y)
	s.DECQ(n)
	s.JNZ(operand.LabelRef("tile"))
	s.End()
}

// lines computes the results of a stage from its values, and puts them in order.
func (s *set) lines(t stage, d []reg.VecVirtual, factors map[float32]reg.VecVirtual,
	put func(i int, v reg.VecVirtual)) {
	values := append([]reg.VecVirtual{}, d...)
	for _, l := range t.sums {
		values = append(values, s.line(l, values, factors))
	}
	for i, l := range t.lines {
		put(i, s.line(l, values, factors))
	}
}

// line computes a sum. Its first term's factor is 1 unless none is.
func (s *set) line(l line, values []reg.VecVirtual, factors map[float32]reg.VecVirtual) reg.VecVirtual {
	first := values[l[0].value]
	if len(l) == 1 && l[0].factor == 1 {
		return first
	}
	y, rest := s.Vector(), l[1:]
	switch {
	case l[0].factor == -1:
		s.Zero(y)
		s.VSUBPS(first, y, y)
	case l[0].factor < 0:
		s.Zero(y)
		s.VFNMADD231PS(first, factors[-l[0].factor], y)
	case l[0].factor != 1:
		s.VMULPS(first, factors[l[0].factor], y)
	case rest[0].factor == 1:
		s.VADDPS(values[rest[0].value], first, y)
		rest = rest[1:]
	case rest[0].factor == -1:
		s.VSUBPS(values[rest[0].value], first, y)
		rest = rest[1:]
	default:
		s.VMOVAPS(first, y)
	}
	for _, v := range rest {
		switch {
		case v.factor == 1:
			s.VADDPS(values[v.value], y, y)
		case v.factor == -1:
			s.VSUBPS(values[v.value], y, y)
		case v.factor > 0:
			s.VFMADD231PS(values[v.value], factors[v.factor], y)
		default:
			s.VFNMADD231PS(values[v.value], factors[-v.factor], y)
		}
	}
	return y
}
