package kernels

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panels are the passes of instance normalisation on rows of sixteen channels: one
// vector of AVX-512 or two of AVX2.
func (s *set) panels() {
	s.panelMoments()
	s.panelNormalise(false)
	s.panelNormalise(true)
	s.panelGradSums()
	s.panelGrad(false)
	s.panelGrad(true)
}

// columns is the number of vectors of a panel's row.
func (s *set) columns() int { return patchFloats / s.lanes }

// column is vector i of a row.
func (s *set) column(row reg.Register, i int) operand.Mem {
	return operand.Mem{Base: row, Disp: i * s.bytes()}
}

// loaded loads the vectors of a row.
func (s *set) loaded(row reg.Register) []reg.VecVirtual {
	v := s.vectors(s.columns())
	for i := range v {
		s.VMOVUPS(s.column(row, i), v[i])
	}
	return v
}

// panelRows writes a loop over rows of the pointers, pitch floats apart.
func (s *set) panelRows(body func(), pointers ...reg.Register) {
	pitch, rows := s.byteArgument("pitch"), s.argument("rows")
	s.Label("row")
	body()
	for _, p := range pointers {
		s.ADDQ(pitch, p)
	}
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
}

// panelMoments is Σ x − shift and Σ (x − shift)².
func (s *set) panelMoments() {
	s.function("panelMoments", "sums, x *float32, pitch, rows int, shift *float32", "is PanelMoments.")
	to, x, shift := s.argument("sums"), s.argument("x"), s.loaded(s.argument("shift"))
	sums := s.loadedSums(to)
	s.panelRows(func() {
		for i := range shift {
			v := s.vector()
			s.VMOVUPS(s.column(x, i), v)
			s.VSUBPS(shift[i], v, v)
			s.VADDPS(v, sums[0][i], sums[0][i])
			s.VFMADD231PS(v, v, sums[1][i])
		}
	}, x)
	s.storeSums(sums, to)
	s.end()
}

// loadedSums loads both sums of every channel.
func (s *set) loadedSums(from reg.Register) [2][]reg.VecVirtual {
	var sums [2][]reg.VecVirtual
	for which := range sums {
		for i := range s.columns() {
			v := s.vector()
			s.VMOVUPS(s.column(from, which*s.columns()+i), v)
			sums[which] = append(sums[which], v)
		}
	}
	return sums
}

func (s *set) storeSums(sums [2][]reg.VecVirtual, to reg.Register) {
	for which := range sums {
		for i, v := range sums[which] {
			s.VMOVUPS(v, s.column(to, which*s.columns()+i))
		}
	}
}

// panelNormalise is max(v, slope·v) of v = x·factor + add, plus a residual.
func (s *set) panelNormalise(residual bool) {
	name, arguments := "panelNormalise", "y, x *float32"
	if residual {
		name, arguments = "panelNormaliseAdd", "y, x, residual *float32"
	}
	s.function(name, arguments+", pitch, rows int, factor, add *float32, slope float32", "is PanelNormalise.")
	y, x := s.argument("y"), s.argument("x")
	pointers := []reg.Register{y, x}
	var r reg.GPVirtual
	if residual {
		r = s.argument("residual")
		pointers = append(pointers, r)
	}
	factor, add, slope := s.loaded(s.argument("factor")), s.loaded(s.argument("add")), s.factor("slope")
	s.panelRows(func() {
		for i := range factor {
			v, scaled := s.vector(), s.vector()
			s.VMOVUPS(s.column(x, i), v)
			s.VFMADD213PS(add[i], factor[i], v)
			if residual {
				s.VADDPS(s.column(r, i), v, v)
			}
			s.VMULPS(slope, v, scaled)
			s.VMAXPS(scaled, v, v)
			s.VMOVUPS(v, s.column(y, i))
		}
	}, pointers...)
	s.end()
}

// leaked scales lanes of a gradient where the activation was not positive.
func (s *set) leaked(y operand.Mem, gradient, slope, zero reg.VecVirtual) {
	v, scaled := s.vector(), s.vector()
	s.VMOVUPS(y, v)
	s.VMULPS(slope, gradient, scaled)
	if s.wide {
		k := s.K()
		s.VCMPPS(operand.U8(unlessAtMost), zero, v, k)
		s.Context.VMOVAPS(gradient, k, scaled)
		s.VMOVAPS(scaled, gradient)
		return
	}
	s.VCMPPS(operand.U8(unlessAtMost), zero, v, v)
	s.VBLENDVPS(v, gradient, scaled, gradient)
}

// panelGradSums is Σ g and Σ g·(x − mean), of leaked gradients.
func (s *set) panelGradSums() {
	s.function("panelGradSums", "sums, x, y, gy *float32, pitch, rows int, mean *float32, slope float32", "is PanelGradSums.")
	to, x, y, gy := s.argument("sums"), s.argument("x"), s.argument("y"), s.argument("gy")
	mean, slope, zero := s.loaded(s.argument("mean")), s.factor("slope"), s.vector()
	s.zero(zero)
	sums := s.loadedSums(to)
	s.panelRows(func() {
		for i := range mean {
			g, v := s.vector(), s.vector()
			s.VMOVUPS(s.column(gy, i), g)
			s.leaked(s.column(y, i), g, slope, zero)
			s.VMOVUPS(s.column(x, i), v)
			s.VSUBPS(mean[i], v, v)
			s.VADDPS(g, sums[0][i], sums[0][i])
			s.VFMADD231PS(g, v, sums[1][i])
		}
	}, x, y, gy)
	s.storeSums(sums, to)
	s.end()
}

// panelGrad is factor·g + slope·(x − mean) + add, of leaked gradients, which it also
// stores as those of a residual. The numbers of a panel follow each other.
func (s *set) panelGrad(residual bool) {
	name, arguments := "panelGrad", "gx, x, y, gy *float32"
	if residual {
		name, arguments = "panelGradAdd", "gx, residual, x, y, gy *float32"
	}
	s.function(name, arguments+", pitch, rows int, p *float32, leak float32", "is PanelGrad.")
	gx, x, y, gy := s.argument("gx"), s.argument("x"), s.argument("y"), s.argument("gy")
	pointers := []reg.Register{gx, x, y, gy}
	var r reg.GPVirtual
	if residual {
		r = s.argument("residual")
		pointers = append(pointers, r)
	}
	p, leak, zero := s.argument("p"), s.factor("leak"), s.vector()
	s.zero(zero)
	number := func(which, i int) operand.Mem { return s.column(p, which*s.columns()+i) }
	s.panelRows(func() {
		for i := range s.columns() {
			g, v, factor := s.vector(), s.vector(), s.vector()
			s.VMOVUPS(s.column(gy, i), g)
			s.leaked(s.column(y, i), g, leak, zero)
			if residual {
				s.VMOVUPS(g, s.column(r, i))
			}
			s.VMOVUPS(s.column(x, i), v)
			s.VSUBPS(number(0, i), v, v)
			s.VMOVUPS(number(2, i), factor)
			s.VFMADD213PS(number(3, i), factor, v)
			s.VFMADD231PS(number(1, i), g, v)
			s.VMOVUPS(v, s.column(gx, i))
		}
	}, pointers...)
	s.end()
}
