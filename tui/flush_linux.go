package tui

import (
	"io"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// flushInput throws away what the terminal behind in has sent and nobody has read.
func flushInput(in io.Reader) {
	if f, ok := in.(term.File); ok {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	}
}
