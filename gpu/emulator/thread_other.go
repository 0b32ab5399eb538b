//go:build !linux

package emulator

// thread returns the same number for all threads: that a context is current to a thread is checked on Linux only.
func thread() int { return 0 }
