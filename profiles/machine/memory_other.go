//go:build !linux && !darwin

package machine

import "runtime"

// ReadMemory is not supported on this system.
func ReadMemory() Memory { return Memory{Reason: "memory is not read on " + runtime.GOOS} }
