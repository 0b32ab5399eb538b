package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// ErrInterrupted is what Run returns after ctrl+c or a signal that ends the
// program.
var ErrInterrupted = errors.New("interrupted")

// framesPerSecond is how often Bubble Tea looks whether the terminal's modes are to
// change. Frames do not wait for it: see wire.
const framesPerSecond = 50

// Times that leaving may take, together less than two seconds: for Bubble Tea
// to end in order and then by force, for the run's last snapshot to come, and
// for a slow terminal to take what restores it.
const (
	leaveLimit = 800 * time.Millisecond
	killLimit  = 300 * time.Millisecond
	lastLimit  = 300 * time.Millisecond
	drainLimit = 500 * time.Millisecond
)

// Run shows the run on a terminal until the user leaves, ctx ends or the
// snapshots' channel is closed. It stops the run when the user quits, restores
// the terminal and prints a summary to it, and returns within two seconds even
// where the terminal has stopped reading.
//
// The error is nil when the user quit or the snapshots ended, ErrInterrupted
// after ctrl+c, SIGINT, SIGTERM or SIGHUP, ctx's cause when ctx ended, and what
// went wrong otherwise.
func Run(ctx context.Context, c Controller, o Options) error {
	var caught *stray
	reads := true // the terminal, to the end
	if o.Output == nil {
		var err error
		if caught, err = catchStray(); err == nil {
			defer func() {
				caught.release()
				if reads {
					caught.replay(os.Stderr)
				}
			}()
			o.Output = caught.terminal
		}
	}
	o = o.onTerminal()
	m := New(c, o)
	m.stray = caught
	m.out = newOutput(o.Output)
	var tty io.Writer = m.out
	if f, ok := o.Output.(*os.File); ok {
		tty = terminalOutput{m.out, f}
	}

	signals, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	options := []tea.ProgramOption{
		tea.WithContext(running), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond),
		tea.WithFilter(m.hold), tea.WithOutput(tty), tea.WithInput(o.Input), tea.WithEnvironment(o.Environ),
	}
	if o.size[0] > 0 {
		options = append(options, tea.WithWindowSize(o.size[0], o.size[1]))
	}
	if o.NoColor {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	restore := rememberTerminal(o.Input)
	program := tea.NewProgram(m, options...)
	ended := make(chan error, 1)
	go func() {
		_, err := program.Run()
		ended <- err
	}()
	err := m.await(signals, ended, program.Quit, kill)
	if errors.Is(err, errStuck) {
		restore()
		m.out.take()
		m.out.last(normalScreen)
	}
	if m.answersDue(time.Now()) {
		flushInput(o.Input)
	}
	m.leave()
	m.rememberLast()
	if !o.NoSummary && m.crash == nil {
		m.printSummary()
	}
	reads = m.out.close(drainLimit)
	return m.verdict(ctx, signals, err)
}

// normalScreen undoes what Bubble Tea may have switched on, where it does not
// do so itself. It ends a frame that was cut off, and may come twice.
const normalScreen = ansi.ResetModeSynchronizedOutput + ansi.ResetStyle +
	ansi.ResetModifyOtherKeys + "\x1b[<1u" + // pops the keyboard's mode of this screen
	ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
	ansi.ResetModeFocusEvent + ansi.ResetModeBracketedPaste + ansi.ResetModeUnicodeCore +
	ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable

// errStuck says that Bubble Tea did not end in time.
var errStuck = errors.New("the terminal did not let go")

// await is the program's end, or errStuck when it was asked to end and did not.
// It is killed only when it does not quit: killed, it closes its input while it
// may still be reading.
func (m *Model) await(ctx context.Context, ended <-chan error, quit, kill func()) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		go quit() // waits while the program is busy
	case <-m.left:
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(leaveLimit):
		kill()
	}
	select {
	case <-ended:
	case <-time.After(killLimit):
	}
	return errStuck
}

// verdict is what Run returns.
func (m *Model) verdict(ctx, signals context.Context, err error) error {
	switch {
	case m.crash != nil:
		return m.crash
	case m.interrupted:
		return ErrInterrupted
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case signals.Err() != nil:
		return ErrInterrupted
	case errors.Is(err, errStuck):
		return nil
	}
	return err
}

// onTerminal fills in the process' own terminal, and NO_COLOR, which counts
// with any value that is not empty.
func (o Options) onTerminal() Options {
	if o.Output == nil {
		o.Output = os.Stdout
	}
	if o.Input == nil {
		o.Input = os.Stdin
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	for _, v := range o.Environ {
		if value, ok := strings.CutPrefix(v, "NO_COLOR="); ok && value != "" {
			o.NoColor = true
		}
	}
	return o
}

// rememberTerminal notes the state of the terminal behind in, and returns a
// function that brings it back as well as can be.
func rememberTerminal(in io.Reader) (restore func()) {
	f, ok := in.(term.File)
	if !ok {
		return func() {}
	}
	state, err := term.GetState(f.Fd())
	if err != nil {
		return func() {}
	}
	return func() { _ = term.Restore(f.Fd(), state) }
}

// awaitLast takes snapshots until the run has ended or the time for it is over.
func (m *Model) awaitLast() {
	timer := time.NewTimer(lastLimit)
	defer timer.Stop()
	for m.snap != nil && !ended(m.snap.State) {
		select {
		case s, ok := <-m.control.Snapshots():
			if !ok {
				return
			}
			if s != nil {
				m.snap = s
			}
		case <-timer.C:
			return
		}
	}
}

// printSummary writes the run's summary to the normal screen. A run whose end
// was not heard of in time is stopping.
func (m *Model) printSummary() {
	m.awaitLast()
	if m.snap == nil || m.snap.Run.Size == 0 { // it had not begun
		return
	}
	state := m.snap.State.String()
	if !ended(m.snap.State) {
		state = "stopping"
	}
	text := strings.ReplaceAll(summary(m.snap, state, m.options.Cores), "\n", "\r\n")
	if m.options.ASCII {
		text = plainASCII(text)
	}
	m.out.last(ansi.ResetStyle + "\r" + text)
}
