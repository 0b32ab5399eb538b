//go:build unix

package machine

import "syscall"

// GroupOf returns the group of a process, the process itself if that is not known.
func GroupOf(pid int) int {
	if group, err := syscall.Getpgid(pid); err == nil {
		return group
	}
	return pid
}

// Interrupt sends the group of a process the signal of ctrl+c, Terminate the one that asks to end.
func Interrupt(pid int) { _ = syscall.Kill(-pid, syscall.SIGINT) }

// Terminate asks the group of a process to end.
func Terminate(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }
