package screen

import (
	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
)

// suspension stops the program as the shell's job control asks, between two iterations, and resumes the run with it.
type suspension struct {
	*display
	pause  *pausing
	sleep  sleep
	resume bool // resume the run after the suspension
}

// sleep is the progress of a suspension by ctrl+z.
type sleep uint8

const (
	awake         sleep = iota
	fallingAsleep       // until the run is paused
	asleep
)

// suspend stops the program between two iterations, so that no iteration's time includes the
// suspension.
func (s *suspension) suspend() tea.Cmd {
	switch {
	case s.out == nil || s.sleep == asleep:
		return nil
	case !s.console.Suspends():
		s.say(cannotSuspend)
		return nil
	case s.sleep == fallingAsleep: // repeated: do not wait for the run
		return s.fallAsleep()
	}
	s.sleep = fallingAsleep
	s.resume = s.pause.keys.can(profiles.PauseCommand) && s.pause.snap != nil &&
		s.pause.snap.State == profiles.Running && s.pause.want == nil
	if s.resume {
		s.pause.ask(true)
		s.say(s.pause.keys.Say(suspends))
		return nil
	}
	return s.fallAsleep()
}

// fallAsleep stops the process; the message arrives when it is resumed.
func (s *suspension) fallAsleep() tea.Cmd {
	s.sleep = asleep
	return tea.Exec(s.console.Suspension(s.out, s.goOnBehind), func(err error) tea.Msg { return awakeMsg{err} })
}

// goOnBehind resumes the run if the process is resumed in the background.
func (s *suspension) goOnBehind() {
	if s.resume {
		s.pause.ask(false)
	}
}

// wakeUp resumes the run if it was running before.
func (s *suspension) wakeUp(err error) {
	s.sleep = awake
	s.redrawPictures()
	if s.resume {
		s.pause.ask(false)
	}
	if err != nil {
		s.complain("not suspended: " + err.Error())
	}
}
