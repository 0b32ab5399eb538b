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
	s.console.away.Store(true)
	defer s.console.away.Store(false)
	s.out.Drain(DrainLimit)
	s.console.GiveBack()
	err := stop()
	return errors.Join(err, s.console.retake(s.behind, func() {}))
}

// stop stops the processes of this job until the shell continues them.
func stop() error { return stopped(0, syscall.SIGTSTP) }

// stopped sends a signal that stops a process, or all of the job for 0, and waits until the shell continues it.
func stopped(pid int, by syscall.Signal) error {
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)
	if err := syscall.Kill(pid, by); err != nil {
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

// PauseWhileStopped lets a program without a screen pause before the shell stops it, as ctrl+z asks, so that no time
// is counted in which it did not run, from now on until end is called. pause returns once that is done, or when again
// delivers that ctrl+z was pressed once more, with what goes on afterwards.
func PauseWhileStopped(pause func(again <-chan os.Signal) (goOn func())) (end func()) {
	done, asked := make(chan struct{}), make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTSTP)
	go func() {
		defer signal.Stop(asked)
		for {
			select {
			case <-done:
				return
			case <-asked:
			}
			goOn := pause(asked)
			// SIGTSTP stops no Go program that was ever notified of it. This one does, and like it only where a shell
			// can continue the process; an error says that none could, so that it was not stopped.
			_ = stopped(os.Getpid(), syscall.SIGTTOU)
			goOn()
		}
	}()
	return func() { close(done) }
}

// SetStdin does nothing: no input is read.
func (suspension) SetStdin(io.Reader) {}

// SetStdout does nothing: no output is written.
func (suspension) SetStdout(io.Writer) {}

// SetStderr does nothing: no output is written.
func (suspension) SetStderr(io.Writer) {}

// reclaiming takes the terminal again after a shell has had it. Bubble Tea executes it with the screen released.
type reclaiming struct{ suspension }

// Run returns when the program has the terminal, or has ended in the background. Until then it leaves the
// terminal's modes alone, which are the shell's.
func (r reclaiming) Run() error {
	r.console.away.Store(true)
	defer r.console.away.Store(false)
	r.console.keys.stop()
	r.console.tty.forget()
	err := r.console.retake(func() {}, r.console.FlushInput)
	r.out.Lose() // with its pictures
	return err
}

// WatchContinued takes the terminal again, with send, each time a signal from outside has stopped the process
// and another has continued it, until the screen's program ends. What was typed meanwhile is dropped.
func (c *Console) WatchContinued(out *Output, send func(tea.Msg)) {
	if c.tty == nil || c.streams.Remote {
		return
	}
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)
	signal.Ignore(syscall.SIGTTIN) // reading in the background fails instead of stopping the process
	defer signal.Reset(syscall.SIGTTIN)
	for {
		select {
		case <-on:
		case <-c.done:
			return
		}
		switch {
		case c.away.Load(): // the suspension itself returns
		// with the screen's modes, which a shell may also have set again
		case c.tty.keeps() && InForeground(c.tty.file.Fd()):
			out.Lose()
		default:
			// A terminal that cannot be taken is gone, which reading or writing it reports.
			send(tea.Exec(reclaiming{suspension{console: c, out: out}}, func(error) tea.Msg { return nil })())
		}
	}
}

// retake takes the terminal again once the program is in the foreground. If it is not there yet,
// behind is called and the program continues without a screen until it is. ready is called before the
// terminal is taken.
func (c *Console) retake(behind, ready func()) error {
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
	ready()
	return c.Take()
}
