package dft

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// moduli writes the kernels of amplitudes.
func (s *set) moduli() {
	s.modulusStrip(false)
	s.modulusStrip(true)
}

// modulusStrip replaces complex rows by their directions, parts swapped, and stores
// their amplitudes or accumulates them.
func (s *set) modulusStrip(add bool) {
	name, doc := "modulusStrip", "is ModulusStrip."
	if add {
		name, doc = "modulusStripAdd", "is ModulusStrip that adds."
	}
	s.Kernel(name, "rows int, z, amplitude *float32", doc)
	rows, z, amplitude := s.Argument("rows"), s.Argument("z"), s.Argument("amplitude")
	c := s.lossConstants(name)
	s.Label("row")
	s.eachPart(func(at int) {
		p := s.loadParts(operand.Mem{Base: z, Disp: at})
		m, r := s.amplitude(&p, &c, fmt.Sprint("row", at))
		s.VMULPS(r, p.re, p.re)
		s.VMULPS(r, p.im, p.im)
		s.storeParts(parts{p.im, p.re}, operand.Mem{Base: z, Disp: at})
		to := operand.Mem{Base: amplitude, Disp: at}
		if add {
			s.VADDPS(to, m, m)
		}
		s.VMOVUPS(m, to)
	})
	s.ADDQ(operand.I32(2*stripBytes), z)
	s.ADDQ(operand.I32(stripBytes), amplitude)
	s.DECQ(rows)
	s.JNZ(operand.LabelRef("row"))
	s.table = operand.Mem{}
	s.End()
}
