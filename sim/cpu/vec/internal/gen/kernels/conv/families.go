// Package conv writes the kernels of convolutions.
package conv

import "prismtop/sim/cpu/vec/internal/gen/kernels/asm"

// Families are the kernels of each assembly file.
var Families = map[string]func(*asm.Set){
	"tile":   kernels((*set).tiles),
	"dots":   kernels((*set).allDots),
	"taps":   kernels((*set).tapSums),
	"patch":  kernels((*set).patchKernels),
	"square": kernels((*set).squares),
}

// set is an instruction set with the kernels of this package.
type set struct{ *asm.Set }

// kernels writes kernels with an instruction set.
func kernels(write func(*set)) func(*asm.Set) { return func(s *asm.Set) { write(&set{s}) } }

// pairsOf returns the set whose factors are pairs of bfloat16.
func (s *set) pairsOf() *set { return &set{s.PairsOf()} }
