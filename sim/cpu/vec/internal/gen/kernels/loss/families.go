// Package loss writes the kernels of losses.
package loss

import "prismtop/sim/cpu/vec/internal/gen/kernels/asm"

// Families are the kernels of each assembly file.
var Families = map[string]func(*asm.Set){
	"loss": kernels((*set).losses),
	"ssim": kernels((*set).ssim),
}

// set is an instruction set with the kernels of this package.
type set struct{ *asm.Set }

// kernels writes kernels with an instruction set.
func kernels(write func(*set)) func(*asm.Set) { return func(s *asm.Set) { write(&set{s}) } }
