package features

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// sets lists the arm64 instruction sets. Every Apple processor has NEON, which
// x/sys/cpu does not probe there.
func sets() []set {
	return []set{{"neon", []requirement{{"asimd", cpu.ARM64.HasASIMD || runtime.GOOS == "darwin"}}}}
}
