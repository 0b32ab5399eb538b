package screen

import (
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// status is a line for the user that stays for some seconds.
type status struct {
	text  string
	brief []string // shorter versions of it, the longest first
	bad   bool
	news  bool // of the run, not an answer to the user
	until time.Time
}

// How long a status stays, and how long of that news do not replace an answer.
const (
	statusLife = 5 * time.Second
	answerLife = 2 * time.Second
)

func (m *Model) say(s string) {
	m.status = status{text: visible.Text(s), until: m.now().Add(statusLife)}
}

// sayOne says the longest of some versions of an answer that the footer has room for; the
// first is the longest.
func (m *Model) sayOne(texts ...string) {
	m.say(texts[0])
	for _, text := range texts[1:] {
		m.status.brief = append(m.status.brief, visible.Text(text))
	}
}

func (m *Model) complain(s string) {
	m.status = status{text: visible.Text(s), bad: true, until: m.now().Add(statusLife)}
}

// news shows what is new of the run, which the log keeps: not over a refusal, nor
// over a fresh answer, unless that announces more: then the news are the answer.
func (m *Model) news(text string) {
	left := m.status.until.Sub(m.now())
	unread := m.status.text != "" && !m.status.news && left > statusLife-answerLife
	awaited := strings.HasSuffix(m.status.text, "…")
	if m.status.bad || unread && !awaited {
		return
	}
	m.say(text)
	m.status.news = !awaited
}

func (s *status) expire(now time.Time) {
	if now.After(s.until) {
		*s = status{}
	}
}

// statusLine is the answer to a key, or what is new of the run, as long as it stays: in w
// cells where that can be.
func (m *Model) statusLine(w int) (string, theme.Style) {
	if m.status.bad {
		return m.status.text, theme.Bad
	}
	return words.FittingOrLast(w, append([]string{m.status.text}, m.status.brief...)...), theme.Warn
}

// changedNext are the settings that were changed since the run was over, with their
// values for the next.
func (m *Model) changedNext() []string {
	next := words.NextSettings(m.snap)
	if next == nil {
		return nil
	}
	var changed []string
	for _, k := range m.keys.table.Keys() {
		if after := next.Get(k.Name); after != m.snap.Settings.Get(k.Name) {
			changed = append(changed, m.nameOf(k.Name)+" "+m.textOf(k.Name, after))
		}
	}
	return changed
}

// overhear takes what others printed beside the screen into the log, and says whether
// there was any.
func (m *Model) overhear() bool {
	if m.stray == nil {
		return false
	}
	lines, lost := m.stray.Take()
	if lost > 0 {
		lines = append([]string{"(" + unit.About(int64(lost), "line", "lines") + " lost)"}, lines...)
	}
	if len(lines) == 0 {
		return false
	}
	var l profiles.LogLine
	if m.snap != nil {
		l.At = m.snap.Elapsed
	}
	for _, text := range lines {
		l.Text = "printed: " + words.Printed(strings.TrimSpace(text))
		m.printed = append(m.printed, l)
	}
	m.printed = m.printed[max(0, len(m.printed)-maxPrinted):]
	m.complain(l.Text)
	return true
}

// maxPrinted bounds what is kept of what others printed.
const maxPrinted = 200

// withPrinted is a snapshot whose log also holds what others printed.
func (m *Model) withPrinted(s *profiles.Snapshot) *profiles.Snapshot {
	if len(m.printed) == 0 {
		return s
	}
	with := *s
	with.Log = slices.Concat(s.Log, m.printed)
	slices.SortStableFunc(with.Log, func(a, b profiles.LogLine) int { return int(a.At - b.At) })
	return &with
}
