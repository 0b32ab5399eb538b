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
	news  bool // of the run, not an answer to the user
	until time.Time
}

// How long a status stays, and how long of that news do not replace an answer.
const (
	statusLife = 5 * time.Second
	answerLife = 2 * time.Second
)

func (m *Model) say(s string) { m.status = status{text: s, until: m.now().Add(statusLife)} }
func (m *Model) complain(s string) {
	m.status = status{text: s, bad: true, until: m.now().Add(statusLife)}
}

// news tells what is new of the run, which the log keeps: not over a refusal, nor
// over an answer that nobody can have read yet, unless that says itself that more
// is to come.
func (m *Model) news(text string) {
	left := m.status.until.Sub(m.now())
	unread := m.status.text != "" && !m.status.news && left > statusLife-answerLife
	if m.status.bad || unread && !strings.HasSuffix(m.status.text, "…") {
		return
	}
	m.say(text)
	m.status.news = true
}

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
