//go:build unix

package sweep

import (
	"os"
	"syscall"
)

// ending is how a process ended.
type ending = *os.ProcessState

// killed reports whether a process got the signal that the system sends where memory ends.
func killed(ended ending) bool {
	if ended == nil {
		return false
	}
	status, ok := ended.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
