//go:build unix

package tui

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
)

// suspension stops the process as ctrl+z does elsewhere, once the terminal has
// taken what restores it. It is what Bubble Tea executes with the screen away.
type suspension struct {
	out    *output
	before func()       // gives the terminal back
	after  func() error // takes it again
}

// Run returns when the process goes on.
func (s suspension) Run() error {
	s.out.drain(drainLimit)
	s.before()
	err := s.stop()
	return errors.Join(err, s.after())
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

// suspend asks for the program to be stopped between two iterations, so that no
// iteration's time holds the sleep.
func (m *Model) suspend() tea.Cmd {
	switch {
	case m.out == nil || m.sleep == asleep:
		return nil
	case m.sleep == fallingAsleep: // asked again: without waiting for the run
		return m.fallAsleep()
	}
	m.sleep = fallingAsleep
	m.resume = m.snap != nil && m.snap.State == profiles.Running && m.wantPaused == nil
	if m.resume {
		m.control.Pause(true)
		m.say("suspends after this iteration; ctrl+z again: at once")
		return nil
	}
	return m.fallAsleep()
}

// fallAsleep stops the process; the message comes when it goes on.
func (m *Model) fallAsleep() tea.Cmd {
	m.sleep = asleep
	return tea.Exec(suspension{m.out, m.standDown, m.standUp}, func(err error) tea.Msg { return awakeMsg{err} })
}

// standDown gives the terminal to the shell.
func (m *Model) standDown() { m.console.giveBack() }

// standUp takes the terminal again, once the program is in the foreground: until then
// the run goes on without a screen.
func (m *Model) standUp() error {
	if tty := m.console.tty; tty != nil && !inForeground(tty.file.Fd()) {
		if m.resume {
			m.control.Pause(false)
		}
		awaitForeground(tty.file.Fd(), m.console.done)
		if !inForeground(tty.file.Fd()) {
			return nil
		}
	}
	select {
	case m.console.resized <- syscall.SIGWINCH: // meanwhile, perhaps
	default:
	}
	return m.console.take()
}

// wakeUp lets the run go on where it ran before.
func (m *Model) wakeUp(err error) {
	m.sleep = awake
	m.redrawPictures()
	if m.resume {
		m.control.Pause(false)
	}
	if err != nil {
		m.complain("not suspended: " + err.Error())
	}
}
