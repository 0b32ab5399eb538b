//go:build !unix

package terminal

import (
	"errors"
	"io"
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"
)

// This file is what a system that is not Unix has, and has not, of a terminal.

// ownsTTY says that Bubble Tea sets the terminal's modes.
const ownsTTY = false

// InForeground is true: no shell has job control here.
func InForeground(uintptr) bool { return true }

func onResize(chan<- os.Signal) {}

// screenOutput is what Bubble Tea writes to, and finds the terminal behind.
func screenOutput(out *Output, f *os.File) io.Writer {
	if f == nil {
		return out
	}
	return terminalOutput{out, f}
}

// terminalOutput is an output on a terminal's file.
type terminalOutput struct {
	*Output
	file *os.File
}

func (t terminalOutput) Read(p []byte) (int, error) { return t.file.Read(p) }
func (t terminalOutput) Close() error               { return nil }
func (t terminalOutput) Fd() uintptr                { return t.file.Fd() }

// keyboard would stand between the terminal and Bubble Tea, which reads it itself here.
type keyboard struct{ term.File }

func newKeyboard(terminal term.File, _ func()) (*keyboard, error) { return &keyboard{terminal}, nil }

func (*keyboard) start() error { return nil }
func (*keyboard) stop()        {}

// Close leaves the terminal open.
func (*keyboard) Close() error { return nil }

// FromShell is in: no shell stops who reads.
func FromShell(in io.Reader, _ <-chan struct{}) (r io.Reader, release func()) { return in, func() {} }

// JobControl says that no program can be suspended here.
const JobControl = false

// Suspension is nil: this system has no job control.
func (*Console) Suspension(*Output, func()) tea.ExecCommand { return nil }

// Stray would catch what is printed beside the screen.
type Stray struct{}

// CatchStray fails: nothing can be caught here.
func CatchStray() (*Stray, error) { return nil, errors.ErrUnsupported }

// Terminal is nil: nothing was put in the place of standard output.
func (*Stray) Terminal() *os.File { return nil }

// Release does nothing.
func (*Stray) Release() {}

// Add forgets the line.
func (*Stray) Add(string) {}

// Take is nothing: nothing was caught.
func (*Stray) Take() (lines []string, lost int) { return nil, 0 }

// Replay writes nothing.
func (*Stray) Replay(io.Writer) {}

// OnDeath does nothing: no signals end a process here.
func OnDeath(func() bool) (release func()) { return func() {} }
