//go:build !unix

package terminal

import (
	"errors"
	"io"
	"os"
	"os/exec"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"
)

// This file implements the terminal functions for systems other than Unix, as far as possible.

// ownsTTY is false: Bubble Tea sets the terminal's modes.
const ownsTTY = false

// InForeground returns true: there is no job control.
func InForeground(uintptr) bool { return true }

func onResize(chan<- os.Signal) {}

// screenOutput returns Bubble Tea's output, through which it finds the terminal.
func screenOutput(out *Output, f *os.File) io.Writer {
	if f == nil {
		return out
	}
	return terminalOutput{out, f}
}

// terminalOutput is an output with the file of its terminal.
type terminalOutput struct {
	*Output
	file *os.File
}

func (t terminalOutput) Read(p []byte) (int, error) { return t.file.Read(p) }
func (t terminalOutput) Close() error               { return nil }
func (t terminalOutput) Fd() uintptr                { return t.file.Fd() }

// WatchContinued returns: there is no job control.
func (c *Console) WatchContinued(*Output, func(tea.Msg)) {}

// keyboard passes the terminal through: Bubble Tea reads it directly.
type keyboard struct{ term.File }

func newKeyboard(terminal io.Reader, _ func()) (*keyboard, error) {
	f, ok := terminal.(term.File)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return &keyboard{f}, nil
}

func (*keyboard) start() error { return nil }
func (*keyboard) stop()        {}
func (*keyboard) hush()        {}

func (*keyboard) ended() <-chan struct{} { return nil }

// Close leaves the terminal open.
func (*keyboard) Close() error { return nil }

// FromShell returns in: without job control no read is stopped.
func FromShell(in io.Reader, _ <-chan struct{}) (r io.Reader, release func()) { return in, func() {} }

// JobControl is false: a program cannot be suspended.
const JobControl = false

// PauseWhileStopped does nothing: there is no job control.
func PauseWhileStopped(func(<-chan os.Signal) func()) (end func()) { return func() {} }

// Suspension returns nil: there is no job control.
func (*Console) Suspension(*Output, func()) tea.ExecCommand { return nil }

// Stray is a stub: stray output cannot be caught.
type Stray struct{}

// CatchStray fails: stray output cannot be caught.
func CatchStray() (*Stray, error) { return nil, errors.ErrUnsupported }

// Terminal returns nil: standard output was not replaced.
func (*Stray) Terminal() *os.File { return nil }

// Release does nothing.
func (*Stray) Release() {}

// Add ignores the line.
func (*Stray) Add(string) {}

// Take returns nothing.
func (*Stray) Take() (lines []string, lost int) { return nil, 0 }

// Replay writes nothing.
func (*Stray) Replay(io.Writer) {}

// OnDeath does nothing: no signals end a process.
func OnDeath(func() bool) (release func()) { return func() {} }

// Redirect fails: the descriptors of a process cannot be replaced.
func Redirect(*os.File) error { return errors.ErrUnsupported }

// NewSession does nothing: there are no sessions of processes.
func NewSession(*exec.Cmd) {}

// Shell fails: there is no job control.
func Shell() error { return errors.ErrUnsupported }

// ToShell fails: there is no job control.
func ToShell(*exec.Cmd) error { return errors.ErrUnsupported }

// Wake fails: there is no job control.
func Wake(int) error { return errors.ErrUnsupported }

// Group returns 0: there are no groups of processes.
func Group() int { return 0 }

// AwaitReturn returns nil: there is no job control.
func AwaitReturn(<-chan struct{}) *os.File { return nil }

// Return fails: there is no job control.
func Return(*os.File) error { return errors.ErrUnsupported }
