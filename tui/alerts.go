package tui

import (
	"prismtop/profiles"
	"prismtop/tui/theme"
)

// This file is how alerts show outside the log pane, which tells them in full: a
// lamp in the header, the worst one in the footer where there is room, and each
// once as it comes.

// alertLeast is the room below which the footer leaves an alert out.
const alertLeast = 30

// alertLamp is how many alerts stand, left of everything that must not move.
func (m *Model) alertLamp() []piece {
	n := len(m.snap.Alerts)
	if n == 0 {
		return nil
	}
	worst := m.snap.Alerts[0].Severity
	return []piece{{string(alertGlyph(worst)) + " " + plural(int64(n), "alert", "alerts") + "  ", alertStyle(worst), 1}}
}

// newestAlert is the alert to tell in one line: the worst, and of those the newest.
func (m *Model) newestAlert() (string, theme.Style) {
	if m.snap == nil || len(m.snap.Alerts) == 0 {
		return "", theme.Plain
	}
	a := m.snap.Alerts[0]
	return string(alertGlyph(a.Severity)) + " " + a.What, alertStyle(a.Severity)
}

// newAlerts are the sentences of alerts that the snapshot before did not have.
func newAlerts(before, now *profiles.Snapshot) []string {
	var texts []string
	for _, a := range now.Alerts {
		known := false
		if before != nil {
			for _, b := range before.Alerts {
				known = known || b.ID == a.ID
			}
		}
		if !known {
			texts = append(texts, "alert: "+a.What)
		}
	}
	return texts
}
