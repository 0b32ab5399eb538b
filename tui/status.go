package tui

import (
	"time"

	"prismtop/profiles"
	"prismtop/tui/theme"
)

// status is a line for the user that stays for some seconds.
type status struct {
	text  string
	bad   bool
	until time.Time
}

// statusLife is how long a status stays.
const statusLife = 5 * time.Second

func (m *Model) say(s string)      { m.status = status{s, false, m.now().Add(statusLife)} }
func (m *Model) complain(s string) { m.status = status{s, true, m.now().Add(statusLife)} }

func (s *status) expire(now time.Time) {
	if now.After(s.until) {
		*s = status{}
	}
}

// statusLine is what was refused last, why the run failed, or what was last said.
func (m *Model) statusLine() (string, theme.Style) {
	switch {
	case m.status.bad:
		return m.status.text, theme.Bad
	case m.snap != nil && m.snap.State == profiles.Failed:
		return "failed: " + firstLine(m.snap.Err) + "   (q quits)", theme.Bad
	}
	return m.status.text, theme.Warn
}
