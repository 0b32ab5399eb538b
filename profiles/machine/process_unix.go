//go:build unix

package machine

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Runs reports whether a process of this machine runs. One that has ended does not, even if the process
// that began it has not noticed yet.
func Runs(pid int) bool {
	if err := unix.Kill(pid, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return false
	}
	return !over(pid)
}

// over reports whether a process has ended and is only kept for the one that began it, by Linux's
// /proc/PID/stat: its state follows its name, which may have any characters, in parentheses.
func over(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, found := strings.Cut(string(text[max(0, bytes.LastIndexByte(text, ')')):]), ") ")
	return found && (strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X"))
}
