//go:build unix

package apart

import (
	"errors"
	"os"
	"syscall"
)

// shellKilled is the status of a shell whose program got SIGKILL.
const shellKilled = 128 + int(syscall.SIGKILL)

// killed reports whether a program, or the one that a shell ran, got the signal that the system
// sends where memory ends.
func killed(ended *os.ProcessState) bool {
	if ended == nil {
		return false
	}
	status, ok := ended.Sys().(syscall.WaitStatus)
	return ok && (status.Signaled() && status.Signal() == syscall.SIGKILL || status.ExitStatus() == shellKilled)
}

// killGroup kills the process group that a program leads.
func killGroup(p *os.Process) error {
	err := syscall.Kill(-p.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
