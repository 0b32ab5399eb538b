//go:build unix

package terminal

import (
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// ownsTTY says that the screen sets the terminal's modes, and not Bubble Tea.
const ownsTTY = true

// InForeground reports whether the process may read the terminal fd and set its modes:
// its group is in the foreground of its shell, or no shell has job control over it.
func InForeground(fd uintptr) bool {
	group, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// screenOutput is what Bubble Tea writes to.
func screenOutput(out *Output, _ *os.File) io.Writer { return out }

// onResize lets c know when the size of the terminal changes.
func onResize(c chan<- os.Signal) { signal.Notify(c, unix.SIGWINCH) }
