//go:build !unix

package machine

import "os"

// GroupOf returns the process: this system has no groups.
func GroupOf(pid int) int { return pid }

// Interrupt ends a process: this system has no signals to groups.
func Interrupt(pid int) { Terminate(pid) }

// Terminate ends a process.
func Terminate(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
