package terminal

import (
	"fmt"
	"io"
	"os"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// flushInput discards unread input of the terminal behind in.
func flushInput(in io.Reader) {
	if f, ok := in.(term.File); ok {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	}
}

// flushOutput discards output that the terminal has not read.
func flushOutput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCOFLUSH) }

// Hush turns off the echo of a terminal, whose ctrl+c still interrupts, until restore is called, which discards what
// was typed meanwhile.
func Hush(in io.Reader) (restore func()) {
	f, ok := in.(term.File)
	if !ok || !term.IsTerminal(f.Fd()) || !InForeground(f.Fd()) {
		return func() {}
	}
	fd := int(f.Fd())
	modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return func() {}
	}
	hushed := *modes
	hushed.Lflag &^= unix.ECHO
	_ = unix.IoctlSetTermios(fd, unix.TCSETS, &hushed)
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETSF, modes) }
}

// reopen opens the terminal behind f with its own file description, which supports write
// deadlines; nil if it cannot be opened again.
func reopen(f *os.File) *os.File {
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	return again
}
