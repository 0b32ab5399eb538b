//go:build unix

package terminal

import (
	"errors"
	"io"
	"os/signal"
	"syscall"

	"github.com/charmbracelet/x/term"
)

// shellInput reads a terminal while the program is in the foreground of its shell, and waits
// otherwise, because the system would stop a background reader.
type shellInput struct {
	terminal term.File
	left     <-chan struct{} // closed when reading is over
}

// FromShell returns a reader of in that works until left is closed; if in is a terminal, it
// reads only while the program is in the foreground of its shell. release undoes the setup.
func FromShell(in io.Reader, left <-chan struct{}) (r io.Reader, release func()) {
	f, ok := in.(term.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return in, func() {}
	}
	signal.Ignore(syscall.SIGTTIN) // background reads fail instead
	return shellInput{f, left}, func() { signal.Reset(syscall.SIGTTIN) }
}

// Read waits for the foreground and then for input.
func (s shellInput) Read(p []byte) (int, error) {
	for {
		AwaitForeground(s.terminal.Fd(), s.left)
		select {
		case <-s.left:
			return 0, io.EOF
		default:
		}
		n, err := s.terminal.Read(p)
		if errors.Is(err, syscall.EIO) && !InForeground(s.terminal.Fd()) {
			continue
		}
		return n, err
	}
}
