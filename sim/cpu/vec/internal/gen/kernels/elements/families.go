// Package elements writes the kernels on rows of elements.
package elements

import "prismtop/sim/cpu/vec/internal/gen/kernels/asm"

// Families are the kernels of each assembly file.
var Families = map[string]func(*asm.Set){
	"rows":      kernels((*set).rows),
	"shuffle":   kernels((*set).shuffles),
	"functions": kernels((*set).functions),
}

// set is an instruction set with the kernels of this package.
type set struct{ *asm.Set }

// kernels writes kernels with an instruction set.
func kernels(write func(*set)) func(*asm.Set) { return func(s *asm.Set) { write(&set{s}) } }
