// Package kernels describes the assembly kernels of package vec's rooms in terms of avo's instructions: a
// package below it for each room. A kernel is a function of the instruction set.
//
// Every kernel follows these rules: no element beyond a slice is read or written
// (the last, partial vector goes through a mask); each element and each sum is
// computed in an order that depends on the operands' sizes only.
package kernels

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"

	"prismtop/sim/cpu/vec/internal/gen/kernels/adam"
	"prismtop/sim/cpu/vec/internal/gen/kernels/asm"
	"prismtop/sim/cpu/vec/internal/gen/kernels/conv"
	"prismtop/sim/cpu/vec/internal/gen/kernels/elements"
	"prismtop/sim/cpu/vec/internal/gen/kernels/fourier"
	"prismtop/sim/cpu/vec/internal/gen/kernels/half"
	"prismtop/sim/cpu/vec/internal/gen/kernels/loss"
	"prismtop/sim/cpu/vec/internal/gen/kernels/matrix"
	"prismtop/sim/cpu/vec/internal/gen/kernels/norm"
	"prismtop/sim/cpu/vec/internal/gen/kernels/roof"
	"prismtop/sim/cpu/vec/internal/gen/kernels/winograd"
)

// rooms are the families of kernels by room; each family is a file.
var rooms = []map[string]func(*asm.Set){
	adam.Families,
	conv.Families,
	elements.Families,
	fourier.Families,
	half.Families,
	loss.Families,
	matrix.Families,
	norm.Families,
	roof.Families,
	winograd.Families,
}

// Files returns the text of every generated file by its name.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, families := range rooms {
		for family, kernels := range families {
			c := build.NewContext()
			c.ConstraintExpr("!noasm")
			for _, s := range asm.Sets(c) {
				kernels(s)
			}
			f, err := c.Result()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", family, err)
			}
			if err := pass.Compile.Execute(f); err != nil {
				return nil, fmt.Errorf("%s: %w", family, err)
			}
			config := printer.Config{Name: "internal/gen", Pkg: "vec"}
			for suffix, p := range map[string]printer.Printer{
				".s": printer.NewGoAsm(config), ".go": printer.NewStubs(config),
			} {
				text, err := p.Print(f)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", family, err)
				}
				files[family+"_amd64"+suffix] = asm.Encode(text)
			}
		}
	}
	return files, nil
}
