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

// JobControl is true: a program can be suspended.
const JobControl = true

// suspension stops the process, as ctrl+z does in other programs, once the terminal has taken
// the restoring sequences. Bubble Tea executes it with the screen released.
type suspension struct {
	console *Console
	out     *Output
	behind  func()
}

// Suspension returns a command for Bubble Tea that gives the terminal to the shell, stops the
// process, and takes the terminal again once the process is in the foreground. behind is called
// if the process first continues in the background.
func (c *Console) Suspension(out *Output, behind func()) tea.ExecCommand {
	return suspension{c, out, behind}
}

// Run returns when the process continues.
func (s suspension) Run() error {
	s.out.Drain(DrainLimit)
	s.console.GiveBack()
	err := s.stop()
	return errors.Join(err, s.console.retake(s.behind))
}

// stop stops the process until the shell continues it.
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
	case <-on: // the timer expired while stopped
		return nil
	case <-time.After(stopLimit):
		return errNoShell
	}
}

// stopLimit is the maximum time for a stop to take effect.
const stopLimit = 300 * time.Millisecond

// errNoShell is returned if no shell could continue the process, so that the system does not
// stop it.
var errNoShell = errors.New("no shell with job control is behind this terminal")

// SetStdin does nothing: no input is read.
func (suspension) SetStdin(io.Reader) {}

// SetStdout does nothing: no output is written.
func (suspension) SetStdout(io.Writer) {}

// SetStderr does nothing: no output is written.
func (suspension) SetStderr(io.Writer) {}

// retake takes the terminal again once the program is in the foreground. If it is not there yet,
// behind is called and the program continues without a screen until it is.
func (c *Console) retake(behind func()) error {
	if c.tty != nil && !InForeground(c.tty.file.Fd()) {
		behind()
		AwaitForeground(c.tty.file.Fd(), c.done)
		if !InForeground(c.tty.file.Fd()) {
			return nil
		}
	}
	select {
	case c.resized <- syscall.SIGWINCH: // the size may have changed meanwhile
	default:
	}
	return c.Take()
}
