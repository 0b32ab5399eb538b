package tui

import (
	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/tui/terminal"
)

// suspend asks for the program to be stopped between two iterations, so that no
// iteration's time holds the sleep.
func (m *Model) suspend() tea.Cmd {
	switch {
	case !terminal.JobControl:
		m.say("this system cannot suspend a program")
		return nil
	case m.out == nil || m.sleep == asleep:
		return nil
	case m.sleep == fallingAsleep: // asked again: without waiting for the run
		return m.fallAsleep()
	}
	m.sleep = fallingAsleep
	m.resume = m.can(canPause) && m.snap != nil && m.snap.State == profiles.Running && m.wantPaused == nil
	if m.resume {
		m.pauseRun(true)
		m.say("suspends after this iteration; ctrl+z again: at once")
		return nil
	}
	return m.fallAsleep()
}

// fallAsleep stops the process; the message comes when it goes on.
func (m *Model) fallAsleep() tea.Cmd {
	m.sleep = asleep
	return tea.Exec(m.console.Suspension(m.out, m.goOnBehind), func(err error) tea.Msg { return awakeMsg{err} })
}

// goOnBehind lets the run go on without a screen where the program wakes up in the
// background.
func (m *Model) goOnBehind() {
	if m.resume {
		m.pauseRun(false)
	}
}

// wakeUp lets the run go on where it ran before.
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
