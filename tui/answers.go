package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// This file holds the end of the program up until the terminal has answered what it
// was asked at the start: what comes later is typed at the shell's prompt.

// Answers are awaited for so long after the questions, and hold up the end for so long.
const (
	answersLimit = 2 * time.Second
	holdLimit    = 600 * time.Millisecond
)

// leaveMsg tries again to leave.
type leaveMsg struct{}

// answersDue says whether the terminal may still answer.
func (m *Model) answersDue(now time.Time) bool {
	if m.out == nil || m.out.Failed() || m.crash != nil || m.questioned.IsZero() || now.Sub(m.questioned) > answersLimit {
		return false
	}
	return m.graphics.AnswerDue()
}

// hold keeps Bubble Tea from ending while answers are due. It is asked about every
// message before Update.
func (m *Model) hold(_ tea.Model, msg tea.Msg) tea.Msg {
	if _, ok := msg.(tea.QuitMsg); !ok || !m.answersDue(time.Now()) {
		return msg
	}
	if m.leaving.IsZero() {
		m.leaving = time.Now()
	}
	if time.Since(m.leaving) > holdLimit {
		return msg
	}
	return leaveMsg{}
}

// leaveSoon is the way from a leaveMsg to the next try.
func leaveSoon() tea.Cmd {
	return tea.Tick(10*time.Millisecond, func(time.Time) tea.Msg { return tea.QuitMsg{} })
}
