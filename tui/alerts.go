package tui

import (
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/theme"
)

// This file shows alerts outside the log pane: as a count in the header, in a place
// that nothing else takes, and as a list that a key opens.

// alertKey opens the list of alerts.
const alertKey = "!"

// troubles are the alerts that stand, the worst first, behind the failure that ended
// the run, if one did.
func (m *Model) troubles() []profiles.Alert {
	s := m.snap
	if s == nil {
		return nil
	}
	if s.State != profiles.Failed {
		return s.Alerts
	}
	failure := profiles.Alert{Severity: profiles.Critical, Since: s.Elapsed, Iteration: s.Index,
		What: "The run failed: " + firstLine(s.Err),
		Try:  profiles.Advice(m.afterFailure())}
	return append([]profiles.Alert{failure}, s.Alerts...)
}

// alertLamp is how many alerts stand, and the key that lists them, in w cells.
func (m *Model) alertLamp(w int) (string, theme.Style) {
	alerts := m.troubles()
	if len(alerts) == 0 {
		return "", theme.Plain
	}
	worst := alerts[0].Severity
	n := int64(len(alerts))
	text := fittingOrLast(w, unit.About(n, "alert", "alerts")+": "+alertKey, fmt.Sprintf("%d: %s", n, alertKey), alertKey)
	glyph := '▴' // a notice's dot would look like a mark between fields
	if worst == profiles.Critical {
		glyph = alertGlyph(worst)
	}
	return string(glyph) + " " + text, alertStyle(worst)
}

// toggleAlerts opens the list of alerts, or closes it.
func (m *Model) toggleAlerts() {
	if m.sheet.page == alertsHelp {
		m.sheet = help{}
		return
	}
	m.sheet = help{page: alertsHelp}
}

// openOnFailure opens the list where a run has just failed and nothing else is open: its
// reason needs more room than a row of the screen.
func (m *Model) openOnFailure(before, now *profiles.Snapshot) {
	failed := now.State == profiles.Failed && (before == nil || before.State != profiles.Failed)
	if failed && m.sheet.page == noHelp && m.choosing == nil && m.picking == nil {
		m.sheet = help{page: alertsHelp}
	}
}

// alertLines are the alerts in full over lines of w cells: each with its severity and
// since when it stands, and what may help.
func (m *Model) alertLines(w int) []helpLine {
	alerts := m.troubles()
	if len(alerts) == 0 {
		return wrapped("No alert stands. The Log pane keeps those that were cleared.", w, theme.Plain)
	}
	var lines []helpLine
	for _, a := range alerts {
		style := alertStyle(a.Severity)
		lines = append(lines, helpLine{text: fmt.Sprintf("%c %s since %s", alertGlyph(a.Severity), a.Severity, unit.Clock(a.Since)), style: style})
		lines = append(lines, wrapped(a.What, w, theme.Strong)...)
		lines = append(lines, wrapped(a.Try.Text(m.keys.keyOf), w, theme.Plain)...)
		lines = append(lines, helpLine{})
	}
	return lines[:len(lines)-1]
}

// wrapped is a text over lines of w cells.
func wrapped(text string, w int, style theme.Style) []helpLine {
	var lines []helpLine
	for _, l := range wrap(text, w) {
		lines = append(lines, helpLine{text: l, style: style})
	}
	return lines
}

// afterFailure says which keys help after a run has failed.
func (m *Model) afterFailure() string {
	var keys []string
	switch {
	case m.can(canRestart | canSet):
		keys = append(keys, "R restarts it from the first weights, and , changes settings before that")
	case m.can(canRestart):
		keys = append(keys, "R restarts it from the first weights")
	}
	if m.can(canSave) {
		keys = append(keys, "s saves the last reconstruction")
	}
	return strings.Join(append(keys, "q quits."), "; ")
}
