//go:build unix

package machine

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Runs reports whether a process of this machine runs.
func Runs(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
