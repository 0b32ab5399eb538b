package tui

import (
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
)

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
		l.Text = "printed: " + printed(strings.TrimSpace(text))
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
