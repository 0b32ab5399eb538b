// Package features tells which processor this is and which of the instruction
// sets that kernels are written for it offers.
package features

import (
	"runtime"

	"prismtop/profiles/machine"
)

// requirement is one processor flag that an instruction set needs.
type requirement struct {
	name  string
	found bool
}

// set is an instruction set with everything a kernel for it may use.
type set struct {
	name  string
	needs []requirement
}

// Detect describes the processor. Features lists every single flag found;
// Sets the kernel variants' needs, fastest first, each with what it lacks.
func Detect() machine.CPU {
	cpu := machine.CPU{Arch: runtime.GOARCH, Logical: runtime.NumCPU(), Features: []string{}}
	cpu.Model, cpu.Reason = model()
	seen := map[string]bool{}
	for _, s := range sets() {
		cpu.Sets = append(cpu.Sets, s.support())
		for _, need := range s.needs {
			if need.found && !seen[need.name] {
				seen[need.name] = true
				cpu.Features = append(cpu.Features, need.name)
			}
		}
	}
	return cpu
}

func (s set) support() machine.Support {
	missing := ""
	for _, need := range s.needs {
		if need.found {
			continue
		}
		if missing != "" {
			missing += ", "
		}
		missing += need.name
	}
	if missing != "" {
		return machine.Support{Name: s.name, Reason: "the processor or the operating system does not offer " + missing}
	}
	return machine.Support{Name: s.name, Available: true}
}
