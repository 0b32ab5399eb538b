package tui

import (
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/preset"
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

// statusLine is what was refused last, why the run failed, what was last said, or what
// was changed for the next run.
func (m *Model) statusLine() (string, theme.Style) {
	switch {
	case m.status.bad:
		return m.status.text, theme.Bad
	case strings.HasSuffix(m.status.text, nextRun):
		return m.status.text, theme.Warn
	case m.changedNext() != "" && (m.status.text == "" || m.snap.State == profiles.Failed):
		return m.changedNext(), theme.Pending
	case m.snap != nil && m.snap.State == profiles.Failed:
		return "failed: " + firstLine(m.snap.Err) + "   (q quits)", theme.Bad
	}
	return m.status.text, theme.Warn
}

// changedNext tells what was changed since the run was over; "" for nothing.
func (m *Model) changedNext() string {
	next := nextSettings(m.snap)
	if next == nil {
		return ""
	}
	var changed []string
	for _, k := range preset.Keys() {
		if after := next.Get(k.Name); after != m.snap.Settings.Get(k.Name) {
			changed = append(changed, settingName(k.Name)+" "+settingText(k.Name, after, m.options.Cores))
		}
	}
	if len(changed) == 0 {
		return ""
	}
	return "R starts the next run with " + strings.Join(changed, ", ")
}
