package screen

import (
	"context"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"

	"prismtop/profiles"
	"prismtop/tui/control"
	"prismtop/tui/notice"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// This file runs the program without a screen while it is in the background of its shell, where
// the system stops processes that read the terminal or set its modes.

// standAside waits without a screen while the program is in the background. It returns over =
// false when the shell brings it to the foreground; over = true, with the error that Run then
// returns, when the run is over or ctx has ended.
func standAside(ctx context.Context, source control.Source, o Options) (over bool, err error) {
	in, ok := o.Input.(term.File)
	if !ok || terminal.InForeground(in.Fd()) {
		return false, nil
	}
	fmt.Fprint(o.Output, "prismtop: the run goes on in the background; fg shows the screen\n")
	aside, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		terminal.AwaitForeground(in.Fd(), aside.Done())
		cancel()
	}()
	last := await(aside, source)
	stop := func() { _ = source.Do(profiles.Command{Kind: profiles.StopCommand}) }
	switch {
	case ctx.Err() != nil:
		stop()
		return true, context.Cause(ctx)
	case last == nil || !words.Ended(last.State):
		return false, nil
	}
	stop()
	notices := notice.New(o.Notices, o.Environ)
	notices.Tell(o.Output, last)
	if o.Summary != nil {
		_, err = io.WriteString(o.Output, o.Summary(last, last.State.String(), o.Cores, terminal.Columns(o.Output)))
	}
	return true, err
}

// Leave says how a screen leaves a run that goes on without it. The zero value is a screen with
// which the run ends.
type Leave struct {
	// Text is printed when the user leaves the run going, in place of the summary; empty if that is
	// not possible.
	Text string
	// OnHangup leaves it going when the terminal is lost.
	OnHangup bool
	// Always leaves it going unless the user ends it: the run is in another process.
	Always bool
	// Greeting is said when the run appears, and Missed is notified of then, if Options.Notices asks
	// for that: what would have been while a screen was there.
	Greeting, Missed string
}

// goesOn reports whether the run goes on without the screen, which has ended.
func (m *Model) goesOn() bool {
	return m.gone != nil || m.options.Leave.Always && !m.ending && !m.closed && m.snap != nil && !words.Ended(m.snap.State)
}

// detach leaves the run going.
func (m *Model) detach() tea.Cmd {
	m.gone = control.ErrDetached
	m.Leave()
	return tea.Quit
}

// await returns the newest snapshot when the run ends, its snapshots end, or ctx is done.
func await(ctx context.Context, source control.Source) (last *profiles.Snapshot) {
	for {
		select {
		case <-ctx.Done():
			return last
		case s, ok := <-source.Snapshots():
			if s != nil {
				last = s
			}
			if !ok || s != nil && words.Ended(s.State) {
				return last
			}
		}
	}
}

// suspend stops the program between two iterations, so that no iteration's time includes the
// suspension.
func (m *Model) suspend() tea.Cmd {
	switch {
	case m.out == nil || m.sleep == asleep:
		return nil
	case !m.console.Suspends():
		m.say(cannotSuspend)
		return nil
	case m.sleep == fallingAsleep: // repeated: do not wait for the run
		return m.fallAsleep()
	}
	m.sleep = fallingAsleep
	m.resume = m.can(profiles.PauseCommand) && m.snap != nil && m.snap.State == profiles.Running && m.wantPaused == nil
	if m.resume {
		m.pauseRun(true)
		m.say(m.keys.Say(suspends))
		return nil
	}
	return m.fallAsleep()
}

// fallAsleep stops the process; the message arrives when it is resumed.
func (m *Model) fallAsleep() tea.Cmd {
	m.sleep = asleep
	return tea.Exec(m.console.Suspension(m.out, m.goOnBehind), func(err error) tea.Msg { return awakeMsg{err} })
}

// goOnBehind resumes the run if the process is resumed in the background.
func (m *Model) goOnBehind() {
	if m.resume {
		m.pauseRun(false)
	}
}

// wakeUp resumes the run if it was running before.
func (m *Model) wakeUp(err error) {
	m.sleep = awake
	m.redrawPictures()
	if m.resume {
		m.pauseRun(false)
	}
	if err != nil {
		m.complain("not suspended: " + err.Error())
	}
}
