//go:build unix

package terminal

import (
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// ownsTTY is true: the screen sets the terminal's modes, not Bubble Tea.
const ownsTTY = true

// InForeground reports whether the process may read the terminal fd and set its modes: its
// process group is in the foreground, or no shell has job control over it.
func InForeground(fd uintptr) bool {
	group, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// screenOutput returns Bubble Tea's output.
func screenOutput(out *Output, _ *os.File) io.Writer { return out }

// onResize notifies c when the size of the terminal changes.
func onResize(c chan<- os.Signal) { signal.Notify(c, unix.SIGWINCH) }
