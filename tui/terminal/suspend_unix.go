//go:build unix

package terminal

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// JobControl says that a program can be suspended.
const JobControl = true

// suspension stops the process as ctrl+z does elsewhere, once the terminal has
// taken what restores it. It is what Bubble Tea executes with the screen away.
type suspension struct {
	console *Console
	out     *Output
	behind  func()
}

// Suspension stops the process when Bubble Tea executes it, with the terminal given to
// the shell, and takes the terminal again once the process is in the foreground.
// behind is called where it goes on in the background before.
func (c *Console) Suspension(out *Output, behind func()) tea.ExecCommand {
	return suspension{c, out, behind}
}

// Run returns when the process goes on.
func (s suspension) Run() error {
	s.out.Drain(DrainLimit)
	s.console.GiveBack()
	err := s.stop()
	return errors.Join(err, s.console.retake(s.behind))
}

// stop stops the process until the shell wakes it up.
func (s suspension) stop() error {
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	select {
	case <-on:
		return nil
	case <-time.After(stopLimit):
	}
	select {
	case <-on: // the timer ran out in the sleep
		return nil
	case <-time.After(stopLimit):
		return errNoShell
	}
}

// stopLimit is how long a stop may take to take effect.
const stopLimit = 300 * time.Millisecond

// errNoShell is the system's way with a process that nobody could wake up.
var errNoShell = errors.New("no shell with job control is behind this terminal")

// SetStdin does nothing: nothing is read.
func (suspension) SetStdin(io.Reader) {}

// SetStdout does nothing: nothing is written.
func (suspension) SetStdout(io.Writer) {}

// SetStderr does nothing: nothing is written.
func (suspension) SetStderr(io.Writer) {}

// retake takes the terminal again, once the program is in the foreground: where it is
// not yet, behind is called and the program goes on without a screen until then.
func (c *Console) retake(behind func()) error {
	if c.tty != nil && !InForeground(c.tty.file.Fd()) {
		behind()
		AwaitForeground(c.tty.file.Fd(), c.done)
		if !InForeground(c.tty.file.Fd()) {
			return nil
		}
	}
	select {
	case c.resized <- syscall.SIGWINCH: // meanwhile, perhaps
	default:
	}
	return c.Take()
}
