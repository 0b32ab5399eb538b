package screen

import (
	"fmt"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// This file draws the help: a scrollable sheet over the screen that explains the focused pane,
// lists all bindings, searches both, or lists the alerts.

// help is the open sheet.
type help struct {
	page helpPage
	find *widget.Input // what is searched for; nil without a search
	widget.Scroll
}

type helpPage uint8

const (
	noHelp helpPage = iota
	paneHelp
	keysHelp
	alertsHelp
)

// next switches from closed to the focused pane's page, then to the keys, then to closed.
func (h *help) next(focused bool) {
	page := keysHelp
	switch {
	case h.page == noHelp && focused:
		page = paneHelp
	case h.page == keysHelp:
		page = noHelp
	}
	*h = help{page: page}
}

// help returns the lines of the sheet.
func (m *Model) help() []string {
	if m.sheet.find != nil {
		w := min(pane.ProseWidth, m.layout.W-4)
		return m.scrolled("Search the help", "", [][]widget.Line{m.foundLines(w)}, w)
	}
	if m.sheet.page == paneHelp && m.focus != layout.None {
		w := min(pane.ProseWidth, m.layout.W-4)
		return m.scrolled(m.paneName(m.focus), m.keys.Say(allKeysHint+" · "+searchHint), [][]widget.Line{m.paneLines(w)}, w)
	}
	if m.sheet.page == alertsHelp {
		w := min(pane.ProseWidth, m.layout.W-4)
		return m.scrolled("Alerts", m.keys.Say(allKeysHint), [][]widget.Line{m.alertLines(w)}, w)
	}
	columns, width := m.keyColumns()
	return m.scrolled("Keys", m.keys.Say(searchHint), columns, len(columns)*(width+2)-2)
}

// search begins a search.
func (m *Model) search() { m.sheet = help{page: keysHelp, find: widget.NewInput("")} }

// pressSearch handles a key of a search: the sheet scrolls, every other key is typed.
func (m *Model) pressSearch(pressed string) {
	switch {
	case pressed == "esc":
		m.sheet = help{page: keysHelp}
	case len([]rune(pressed)) == 1 || pressed == "space" || widget.Edits(pressed):
		m.sheet.find.Press(pressed)
		m.sheet.Scroll = widget.Scroll{}
	default:
		m.sheet.Move(pressed)
	}
}

// foundLines returns what is searched for, the keys and the paragraphs on panes that have all of its words.
func (m *Model) foundLines(w int) []widget.Line {
	text := m.sheet.find.Value()
	lines := []widget.Line{{Key: m.keys.Of("search"), Text: text + "_", Style: theme.Strong}, {}}
	wanted := strings.Fields(strings.ToLower(text))
	if len(wanted) == 0 {
		return append(lines, widget.Wrapped("Type words: keys and explanations with all of them are listed.", w, theme.Faint)...)
	}
	has := func(parts ...string) bool {
		all := strings.ToLower(strings.Join(parts, " "))
		return !slices.ContainsFunc(wanted, func(word string) bool { return !strings.Contains(all, word) })
	}
	least := len(lines)
	for _, section := range ownSections {
		for _, r := range m.keys.Rows(section) {
			if has(r.Name(), r.Help, section.Title()) {
				lines = append(lines, widget.KeyLines(r.Name(), r.Help, w)...)
			}
		}
	}
	for id := range m.panes {
		for _, sentences := range m.panes[id].Explain() {
			if paragraph := m.keys.Say(profiles.Advice(sentences)); has(paragraph) {
				lines = append(lines, widget.Line{}, widget.Line{Text: m.paneName(layout.Pane(id)), Style: theme.Title})
				lines = append(lines, widget.Wrapped(paragraph, w, theme.Plain)...)
			}
		}
	}
	if len(lines) == least {
		return append(lines, widget.Line{Text: "Nothing has these words.", Style: theme.Faint})
	}
	return lines
}

// paneLines explain the focused pane.
func (m *Model) paneLines(w int) []widget.Line {
	var lines []widget.Line
	for _, paragraph := range m.panes[m.focus].Explain() {
		for _, l := range words.Wrap(m.keys.Say(profiles.Advice(paragraph)), w) {
			lines = append(lines, widget.Line{Text: l})
		}
		lines = append(lines, widget.Line{})
	}
	lines = append(lines, widget.Line{Text: "Keys here", Style: theme.Title})
	for _, h := range m.hints() {
		lines = append(lines, widget.Line{Key: h.Key, Text: h.Does})
	}
	for _, h := range paneHints {
		lines = append(lines, widget.Line{Key: m.keys.Of(h.action), Text: h.does})
	}
	return lines
}

// paneHints are the actions common to all panes.
var paneHints = []struct {
	action profiles.Action
	does   string
}{
	{"zoom", "the whole screen, and back"}, {"next pane", "the next pane"}, {"previous pane", "the previous pane"}, {"close", "one step back"},
}

// guide names the panes that answer common questions.
var guide = []struct{ where, does string }{
	{"Effects", "what a switch did to an iteration's time"},
	{"Caches", "what each saved, less what asking it costs"},
	{"Phases", "where the time goes, the worst in its edge"},
	{"{next pane|next pane}, {help|help}", "a pane's words, how its numbers are measured"},
}

// keyColumns returns all bindings and the run's notes, in columns of width cells.
func (m *Model) keyColumns() (columns [][]widget.Line, width int) {
	return widget.Columns(m.layout.W-4, m.layout.H-2, func(width int) [][]widget.Line {
		blocks := [][]widget.Line{m.noteLines(width)}
		for _, section := range ownSections {
			rows := m.keys.Rows(section)
			if len(rows) == 0 {
				continue
			}
			block := widget.Title(section.Title(), width)
			for _, r := range rows {
				block = append(block, widget.KeyLines(r.Name(), r.Help, width)...)
			}
			blocks = append(blocks, block)
		}
		return blocks
	})
}

// noteLines returns the guide, anything emulated or hidden, and the run's notes.
func (m *Model) noteLines(w int) []widget.Line {
	lines := widget.Title("Where to look", w)
	for _, g := range guide {
		lines = append(lines, widget.KeyLines(m.keys.Say(profiles.Advice(g.where)), g.does, w)...)
	}
	var notes []string
	if m.snap != nil {
		notes = append(notes, m.cautionLines()...)
		if reason := words.OnCPU(m.snap); reason != "" {
			notes = append(notes, "The device auto is the CPU: "+reason+".")
		}
	}
	if names := m.paneNames(m.layout.Crowded()); names != "" && !m.zoomed {
		notes = append(notes, "Too small for: "+names+".")
	}
	if names := m.paneNames(m.layout.Put.List()); names != "" {
		notes = append(notes, "Hidden, as you left them: "+names+". "+m.keys.Say(panesShowsThem))
	}
	if m.snap != nil {
		notes = append(notes, m.snap.Run.Notes...)
	}
	if m.note != "" {
		notes = append(notes, m.note)
	}
	notes = append(notes, m.costNotes()...)
	if len(notes) > 0 {
		lines = append(lines, widget.Line{}, widget.Line{Text: "Here", Style: theme.Title})
	}
	for _, n := range notes {
		for _, l := range words.Wrap(n, w) {
			lines = append(lines, widget.Line{Text: l, Style: theme.Faint})
		}
	}
	return lines
}

// scrolled returns a sheet with columns of w cells, scrolled to its current row.
func (m *Model) scrolled(title, more string, columns [][]widget.Line, w int) []string {
	return widget.Sheet(&m.sheet.Scroll, title, more, columns, w, m.layout.W, m.layout.H).Lines(m.theme)
}

// The following functions show alerts outside the log pane: as a count in its own header slot,
// and as a list opened by a key.

// troubles returns the active alerts, worst first, preceded by the failure if the run failed.
func (m *Model) troubles() []profiles.Alert {
	s := m.snap
	if s == nil {
		return nil
	}
	if s.State != profiles.Failed {
		return s.Alerts
	}
	failure := profiles.Alert{Severity: profiles.Critical, Since: s.Elapsed, Iteration: s.Index,
		What: "The run failed: " + words.FirstLine(s.Err),
		Try:  m.afterFailure()}
	return append([]profiles.Alert{failure}, s.Alerts...)
}

// alertLamp returns the number of active alerts and the key that lists them, in w cells.
func (m *Model) alertLamp(w int) (string, theme.Style) {
	alerts := m.troubles()
	if len(alerts) == 0 {
		return "", theme.Plain
	}
	worst := alerts[0].Severity
	n, key := int64(len(alerts)), m.keys.Of("alerts")
	text := words.FittingOrLast(w, unit.About(n, "alert", "alerts")+": "+key, fmt.Sprintf("%d: %s", n, key), key)
	glyph := '▴' // a notice's dot would look like a separator
	if worst == profiles.Critical {
		glyph = pane.AlertGlyph(worst)
	}
	return string(glyph) + " " + text, pane.AlertStyle(worst)
}

// toggleAlerts opens or closes the list of alerts.
func (m *Model) toggleAlerts() {
	if m.sheet.page == alertsHelp {
		m.sheet = help{}
		return
	}
	m.sheet = help{page: alertsHelp}
}

// openOnFailure opens the list of alerts if the run has just failed and nothing else is open,
// because the reason needs more than one line.
func (m *Model) openOnFailure(before, now *profiles.Snapshot) {
	failed := now.State == profiles.Failed && (before == nil || before.State != profiles.Failed)
	if failed && m.sheet.page == noHelp && !m.listing() {
		m.sheet = help{page: alertsHelp}
	}
}

// alertLines returns the full alerts in lines of w cells, each with its severity, start time and
// advice.
func (m *Model) alertLines(w int) []widget.Line {
	alerts := m.troubles()
	if len(alerts) == 0 {
		return widget.Wrapped("No alert is active. The Log pane keeps the cleared ones.", w, theme.Plain)
	}
	var lines []widget.Line
	for _, a := range alerts {
		style := pane.AlertStyle(a.Severity)
		lines = append(lines, widget.Line{Text: fmt.Sprintf("%c %s since %s", pane.AlertGlyph(a.Severity), a.Severity, unit.Clock(a.Since)), Style: style})
		lines = append(lines, widget.Wrapped(a.What, w, theme.Strong)...)
		lines = append(lines, widget.Wrapped(m.keys.Say(a.Try), w, theme.Plain)...)
		lines = append(lines, widget.Line{})
	}
	return lines[:len(lines)-1]
}

// afterFailure describes what helps after a failure.
func (m *Model) afterFailure() profiles.Advice {
	var ways []string
	switch {
	case m.can(profiles.RestartCommand, profiles.SetCommand):
		ways = append(ways, "{restart|a restart} begins again from the first weights, and {settings|the list of settings} changes them before that")
	case m.can(profiles.RestartCommand):
		ways = append(ways, "{restart|a restart} begins again from the first weights")
	}
	if m.can(profiles.SaveCommand) {
		ways = append(ways, "{save|saving} keeps the last reconstruction")
	}
	return profiles.Advice(strings.Join(append(ways, "{quit|quitting} ends the program."), "; "))
}
