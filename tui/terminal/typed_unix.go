//go:build unix

package terminal

import (
	"errors"
	"io"
	"os/signal"
	"syscall"

	"github.com/charmbracelet/x/term"
)

// shellInput reads a terminal while the program is in the foreground of its shell, and
// waits otherwise: the system would stop who reads it then.
type shellInput struct {
	terminal term.File
	left     <-chan struct{} // closed when nobody reads any more
}

// FromShell is what is read of in until left is closed: where in is a terminal, only while
// the program is in the foreground of its shell. release ends that.
func FromShell(in io.Reader, left <-chan struct{}) (r io.Reader, release func()) {
	f, ok := in.(term.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return in, func() {}
	}
	signal.Ignore(syscall.SIGTTIN) // reading fails instead
	return shellInput{f, left}, func() { signal.Reset(syscall.SIGTTIN) }
}

// Read waits for the foreground and for what is typed there.
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
