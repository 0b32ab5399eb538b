package norm

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"prismtop/sim/cpu/vec/internal/gen/kernels/asm"
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

// panelChannels is the number of channels of a panel.
const panelChannels = 16

// columns is the number of vectors of a panel's row.
func (s *set) columns() int { return panelChannels / s.Lanes }

// column is vector i of a row.
func (s *set) column(row reg.Register, i int) operand.Mem {
	return operand.Mem{Base: row, Disp: i * s.Bytes()}
}

// loaded loads the vectors of a row.
func (s *set) loaded(row reg.Register) []reg.VecVirtual {
	v := s.Vectors(s.columns())
	for i := range v {
		s.VMOVUPS(s.column(row, i), v[i])
	}
	return v
}

// panelRows writes a loop over rows of the pointers, pitch floats apart.
func (s *set) panelRows(body func(), pointers ...reg.Register) {
	pitch, rows := s.ByteArgument("pitch"), s.Argument("rows")
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
	s.Kernel("panelMoments", "sums, x *float32, pitch, rows int, shift *float32", "is PanelMoments.")
	to, x, shift := s.Argument("sums"), s.Argument("x"), s.loaded(s.Argument("shift"))
	sums := s.loadedSums(to)
	s.panelRows(func() {
		for i := range shift {
			v := s.Vector()
			s.VMOVUPS(s.column(x, i), v)
			s.VSUBPS(shift[i], v, v)
			s.VADDPS(v, sums[0][i], sums[0][i])
			s.VFMADD231PS(v, v, sums[1][i])
		}
	}, x)
	s.storeSums(sums, to)
	s.End()
}

// loadedSums loads both sums of every channel.
func (s *set) loadedSums(from reg.Register) [2][]reg.VecVirtual {
	var sums [2][]reg.VecVirtual
	for which := range sums {
		for i := range s.columns() {
			v := s.Vector()
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
	s.Kernel(name, arguments+", pitch, rows int, factor, add *float32, slope float32", "is PanelNormalise.")
	y, x := s.Argument("y"), s.Argument("x")
	pointers := []reg.Register{y, x}
	var r reg.GPVirtual
	if residual {
		r = s.Argument("residual")
		pointers = append(pointers, r)
	}
	factor, add, slope := s.loaded(s.Argument("factor")), s.loaded(s.Argument("add")), s.Factor("slope")
	s.panelRows(func() {
		for i := range factor {
			v, scaled := s.Vector(), s.Vector()
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
	s.End()
}

// leaked scales lanes of a gradient where the activation was not positive.
func (s *set) leaked(y operand.Mem, gradient, slope, zero reg.VecVirtual) {
	v, scaled := s.Vector(), s.Vector()
	s.VMOVUPS(y, v)
	s.VMULPS(slope, gradient, scaled)
	if s.Wide {
		k := s.K()
		s.VCMPPS(operand.U8(asm.UnlessAtMost), zero, v, k)
		s.Context.VMOVAPS(gradient, k, scaled)
		s.VMOVAPS(scaled, gradient)
		return
	}
	s.VCMPPS(operand.U8(asm.UnlessAtMost), zero, v, v)
	s.VBLENDVPS(v, gradient, scaled, gradient)
}

// panelGradSums is Σ g and Σ g·(x − mean), of leaked gradients.
func (s *set) panelGradSums() {
	s.Kernel("panelGradSums", "sums, x, y, gy *float32, pitch, rows int, mean *float32, slope float32",
		"is PanelGradSums.")
	to, x, y, gy := s.Argument("sums"), s.Argument("x"), s.Argument("y"), s.Argument("gy")
	mean, slope, zero := s.loaded(s.Argument("mean")), s.Factor("slope"), s.Vector()
	s.Zero(zero)
	sums := s.loadedSums(to)
	s.panelRows(func() {
		for i := range mean {
			g, v := s.Vector(), s.Vector()
			s.VMOVUPS(s.column(gy, i), g)
			s.leaked(s.column(y, i), g, slope, zero)
			s.VMOVUPS(s.column(x, i), v)
			s.VSUBPS(mean[i], v, v)
			s.VADDPS(g, sums[0][i], sums[0][i])
			s.VFMADD231PS(g, v, sums[1][i])
		}
	}, x, y, gy)
	s.storeSums(sums, to)
	s.End()
}

// panelGrad is factor·g + slope·(x − mean) + add, of leaked gradients, which it also
// stores as those of a residual. The numbers of a panel follow each other.
func (s *set) panelGrad(residual bool) {
	name, arguments := "panelGrad", "gx, x, y, gy *float32"
	if residual {
		name, arguments = "panelGradAdd", "gx, residual, x, y, gy *float32"
	}
	s.Kernel(name, arguments+", pitch, rows int, p *float32, leak float32", "is PanelGrad.")
	gx, x, y, gy := s.Argument("gx"), s.Argument("x"), s.Argument("y"), s.Argument("gy")
	pointers := []reg.Register{gx, x, y, gy}
	var r reg.GPVirtual
	if residual {
		r = s.Argument("residual")
		pointers = append(pointers, r)
	}
	p, leak, zero := s.Argument("p"), s.Factor("leak"), s.Vector()
	s.Zero(zero)
	number := func(which, i int) operand.Mem { return s.column(p, which*s.columns()+i) }
	s.panelRows(func() {
		for i := range s.columns() {
			g, v, factor := s.Vector(), s.Vector(), s.Vector()
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
	s.End()
}
