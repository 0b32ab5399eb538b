package terminal

import (
	"fmt"
	"io"
	"os"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// flushInput throws away what the terminal behind in has sent and nobody has read.
func flushInput(in io.Reader) {
	if f, ok := in.(term.File); ok {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	}
}

// flushOutput throws away what a terminal was sent and has not read.
func flushOutput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCOFLUSH) }

// reopen is the terminal behind f by a description of its own, whose writes can have a
// time limit; nil where it cannot be opened again.
func reopen(f *os.File) *os.File {
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	return again
}
