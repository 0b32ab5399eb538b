// Package features identifies this processor and those of the kernels'
// instruction sets that it offers.
package features

import (
	"runtime"

	"prismtop/profiles/machine"
)

// requirement is a processor flag required by an instruction set.
type requirement struct {
	name  string
	found bool
}

// set is an instruction set with all flags that its kernels may use.
type set struct {
	name  string
	needs []requirement
}

// Detect describes the processor. Features lists every flag found; Sets lists the
// kernel variants, fastest first, each with the flags it lacks.
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
