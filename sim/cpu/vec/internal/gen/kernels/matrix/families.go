// Package matrix writes the kernels of matrix products.
package matrix

import "prismtop/sim/cpu/vec/internal/gen/kernels/asm"

// Families are the kernels of each assembly file.
var Families = map[string]func(*asm.Set){
	"dense": kernels((*set).dense),
	"amx":   kernels((*set).amx),
}

// set is an instruction set with the kernels of this package.
type set struct{ *asm.Set }

// pairsOf returns the set with the instructions of AVX512_BF16.
func (s *set) pairsOf() *set { return &set{s.Set.PairsOf()} }

// kernels writes kernels with an instruction set.
func kernels(write func(*set)) func(*asm.Set) { return func(s *asm.Set) { write(&set{s}) } }
