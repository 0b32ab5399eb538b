// Package kernels describes the assembly kernels of package vec's rooms in terms of avo's instructions: a
// package below it for each room. A kernel is a function of the instruction set.
//
// Every kernel follows these rules: no element beyond a slice is read or written
// (the last, partial vector goes through a mask); each element and each sum is
// computed in an order that depends on the operands' sizes only.
package kernels

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"

	"prismtop/sim/cpu/vec/internal/gen/kernels/adam"
	"prismtop/sim/cpu/vec/internal/gen/kernels/asm"
	"prismtop/sim/cpu/vec/internal/gen/kernels/conv"
	"prismtop/sim/cpu/vec/internal/gen/kernels/dft"
	"prismtop/sim/cpu/vec/internal/gen/kernels/elements"
	"prismtop/sim/cpu/vec/internal/gen/kernels/half"
	"prismtop/sim/cpu/vec/internal/gen/kernels/loss"
	"prismtop/sim/cpu/vec/internal/gen/kernels/matrix"
	"prismtop/sim/cpu/vec/internal/gen/kernels/norm"
	"prismtop/sim/cpu/vec/internal/gen/kernels/roof"
	"prismtop/sim/cpu/vec/internal/gen/kernels/winograd"
)

// room is a package of kernels.
type room struct {
	dir      string                    // of the package, below vec's
	families map[string]func(*asm.Set) // each is an assembly file
}

// rooms are the packages of kernels.
var rooms = []room{
	{"adam", adam.Families},
	{"conv", conv.Families},
	{"dft", dft.Families},
	{"elements", elements.Families},
	{"half", half.Families},
	{"loss", loss.Families},
	{"matrix", matrix.Families},
	{"norm", norm.Families},
	{".", roof.Families},
	{"winograd", winograd.Families},
}

// pkg is the name of the room's package.
func (r *room) pkg() string {
	if r.dir == "." {
		return "vec"
	}
	return r.dir
}

// Files returns the text of every generated file by its path: an assembly file for each family, and one of
// declarations for each room.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, r := range rooms {
		config := printer.Config{Name: "internal/gen", Pkg: r.pkg()}
		stubs := ir.NewFile()
		for _, family := range slices.Sorted(maps.Keys(r.families)) {
			c := build.NewContext()
			c.ConstraintExpr("!noasm")
			for _, s := range asm.Sets(c) {
				r.families[family](s)
			}
			f, err := c.Result()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", family, err)
			}
			if err := pass.Compile.Execute(f); err != nil {
				return nil, fmt.Errorf("%s: %w", family, err)
			}
			text, err := printer.NewGoAsm(config).Print(f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", family, err)
			}
			files[filepath.Join(r.dir, family+"_amd64.s")] = asm.Encode(text)
			stubs.Constraints = f.Constraints
			for _, fn := range f.Functions() {
				stubs.AddSection(fn)
			}
		}
		text, err := printer.NewStubs(config).Print(stubs)
		if err != nil {
			return nil, fmt.Errorf("declarations of %s: %w", r.pkg(), err)
		}
		files[filepath.Join(r.dir, "stubs_amd64.go")] = text
	}
	return files, nil
}
