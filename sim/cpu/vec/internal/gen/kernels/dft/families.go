// Package dft writes the kernels of Fourier transforms, and those of amplitudes between them.
package dft

import (
	"github.com/mmcloughlin/avo/operand"

	"prismtop/sim/cpu/vec/internal/gen/kernels/asm"
)

// Families are the kernels of each assembly file.
var Families = map[string]func(*asm.Set){
	"strip":   kernels((*set).allStrips),
	"modulus": kernels((*set).moduli),
}

// set is an instruction set with the kernels of this package.
type set struct {
	*asm.Set
	table operand.Mem // constants of a kernel
}

// kernels writes kernels with an instruction set.
func kernels(write func(*set)) func(*asm.Set) { return func(s *asm.Set) { write(&set{Set: s}) } }
