//go:build !linux && !darwin

package preset

// physicalMemory is 0: it cannot be told here, and Validate does not guess.
func physicalMemory() int64 { return 0 }
