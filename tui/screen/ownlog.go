package screen

import (
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// ownLog holds the lines of the log that are this screen's own: output of other code, exports, refusals that are too long
// for the footer.
type ownLog struct {
	stray   *terminal.Stray // what other code prints to the terminal; nil if the output is not the process's own
	printed []profiles.LogLine
}

// maxPrinted is the maximum number of own lines kept.
const maxPrinted = 200

// add adds a line.
func (o *ownLog) add(l profiles.LogLine) {
	o.printed = append(o.printed, l)
	o.printed = o.printed[max(0, len(o.printed)-maxPrinted):]
}

// heard returns what other code printed to the terminal since the last call.
func (o *ownLog) heard() []string {
	if o.stray == nil {
		return nil
	}
	lines, lost := o.stray.Take()
	if lost > 0 {
		lines = append([]string{"(" + unit.About(int64(lost), "line", "lines") + " lost)"}, lines...)
	}
	for i, text := range lines {
		lines[i] = "printed: " + words.Printed(strings.TrimSpace(text))
	}
	return lines
}

// within returns a snapshot whose log includes the own lines.
func (o *ownLog) within(s *profiles.Snapshot) *profiles.Snapshot {
	if len(o.printed) == 0 {
		return s
	}
	with := *s
	with.Log = slices.Concat(s.Log, o.printed)
	slices.SortStableFunc(with.Log, func(a, b profiles.LogLine) int { return int(a.At - b.At) })
	return &with
}

// addLine adds a line to the log of this screen, at the present time of the run.
func (m *Model) addLine(l profiles.LogLine) {
	if m.snap != nil {
		l.At = m.snap.Elapsed
	}
	m.add(l)
}

// showLines shows new lines of this screen in the panes.
func (m *Model) showLines() {
	if m.snap != nil {
		m.show(m.within(m.snap))
	}
}

// overhear shows what other code printed to the terminal in the log, and the last of it in the footer.
func (m *Model) overhear() {
	lines := m.heard()
	for _, text := range lines {
		m.addLine(profiles.LogLine{Text: text})
	}
	if len(lines) > 0 {
		m.complain(lines[len(lines)-1])
		m.showLines()
	}
}
