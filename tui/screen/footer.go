package screen

import (
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/keys"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/transport"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// This file draws the footer.

// footerKeys is the number of keys that the footer offers while no pane has the focus.
const footerKeys = 6

// naming is how much the footer says of each key.
type naming uint8

const (
	inFull  naming = iota
	inShort        // the short names
	byState        // settings by their values alone
)

// footer returns the lines of the footer: the keys that matter most, or those of the focused pane, the answer to the
// last key, and the screen's cost. A replay's position has a line of its own above. Where the keys do not fit, the cost
// loses its interval, which the help has; then names are shortened, and those of settings dropped.
func (m *Model) footer() []string {
	w, h := m.layout.Footer.W, m.layout.Footer.H
	var c chart.Canvas
	c.Resize(w, h)
	if h > 1 {
		transport.Draw(&c, 0, m.replay.Position(), m.options.ASCII)
	}
	var right, keys []widget.Piece
	var room int
	for _, form := range []struct {
		naming
		brief bool
	}{{inFull, false}, {inFull, true}, {inShort, true}, {byState, true}} {
		right = m.costPieces(form.brief)
		room = w - 3 - widget.Width(right)
		var missing int
		if keys, missing = widget.FitKeys(m.offered(form.naming, room), room); missing > widget.LastRank {
			break
		}
	}
	widget.Put(&c, w-1-widget.Width(right), h-1, right)
	m.told(&c, h-1, room, keys)
	return c.Lines(m.theme)
}

// offered returns the keys in the footer, for room cells.
func (m *Model) offered(how naming, room int) []widget.KeyGroup {
	if t, typed := opened[*typing](&m.overlays); typed {
		return t.keys()
	}
	if m.focus != layout.None {
		return m.focusKeys()
	}
	table := m.footerTable(room)
	groups := m.keyGroups(table, how)
	if m.over() && !m.can(profiles.PlayCommand) && len(m.keys.Rows(keys.Settings)) > 0 {
		label := widget.KeyGroup{Pieces: []widget.Piece{{Text: "next run:", Style: theme.Strong}}, Rank: 3}
		groups = append([]widget.KeyGroup{label}, groups...)
	}
	return groups
}

// footerTable returns the rows in the footer: those of the lowest ranks, in the order of their sections.
func (m *Model) footerTable(room int) []keys.Row {
	var table []keys.Row
	for _, section := range []keys.Section{keys.Settings, keys.Tuning, keys.Run, keys.Replay, keys.Screen} {
		table = append(table, m.keys.Rows(section)...)
	}
	table = slices.DeleteFunc(table, func(r keys.Row) bool { return r.Short == "" || r.Setting != nil && m.snap == nil })
	if m.over() && !m.can(profiles.PlayCommand) {
		table = m.afterTheEnd(table, room)
	} else {
		table = slices.DeleteFunc(table, func(r keys.Row) bool { return r.Afterwards })
	}
	ranks := make([]int, len(table))
	for i, r := range table {
		ranks[i] = r.Rank
	}
	slices.Sort(ranks)
	last := ranks[min(footerKeys, len(ranks))-1]
	left := footerKeys
	for _, r := range table {
		if r.Rank < last {
			left--
		}
	}
	return slices.DeleteFunc(table, func(r keys.Row) bool {
		if r.Rank == last {
			left--
		}
		return r.Rank > last || r.Rank == last && left < 0
	})
}

// told draws the keys of a row and the status beside them. An answer to a key that does not fit
// there temporarily replaces the keys, and if longer also the screen's cost. News is not shown
// then; it remains in the log.
func (m *Model) told(c *chart.Canvas, y, room int, keys []widget.Piece) {
	w, _ := c.Size()
	text, style := m.statusLine(w - 2)
	if m.status.news && m.deciding() == "" && !widget.Beside(room, keys, text) {
		text = ""
	}
	widget.Tell(c, y, room, keys, text, style)
}

// editing reports whether keys are typed into a setting's value.
func (m *Model) editing() bool {
	e, _ := m.editor()
	_, typed := opened[*typing](&m.overlays)
	return typed || e != nil && e.Editing()
}

// afterTheEnd returns the rows of a run that is over: those that need a running run give way to restart and save.
// Settings are the first to be dropped, unless they were changed for the next run.
func (m *Model) afterTheEnd(table []keys.Row, room int) []keys.Row {
	var left []keys.Row
	for _, r := range table {
		switch {
		case r.During:
			continue
		case r.Action == "restart":
			if changed := m.changedNext(); len(changed) > 0 {
				r.Short = nextRunText(changed, room)
			}
		case r.Setting != nil:
			r.Rank += 2
			if _, pending := m.inFooter(&r); pending {
				r.Rank = 0
			}
		}
		left = append(left, r)
	}
	return left
}

// nextRunText describes the run that a restart begins, with the settings changed since the end, leaving
// room for the keys that are always shown in the row.
func nextRunText(changed []string, room int) string {
	const others = 35
	all := strings.Join(changed, ", ")
	return words.FittingOrLast(room-others, "starts the next run with "+all, "next run: "+all,
		"next: "+unit.About(int64(len(changed)), "change", "changes"))
}

// focusKeys returns the keys of the focused pane, nil if there is none.
func (m *Model) focusKeys() []widget.KeyGroup {
	if t, typed := opened[*typing](&m.overlays); typed {
		return t.keys()
	}
	if m.focus == layout.None {
		return nil
	}
	zoom := "zoom"
	if m.zoomed {
		zoom = "unzoom"
	}
	groups := []widget.KeyGroup{{Pieces: []widget.Piece{{Text: m.paneName(m.focus) + ":", Style: theme.Strong}}}}
	add := func(rank int, hints ...pane.Hint) {
		for _, h := range hints {
			groups = append(groups, widget.Hint(h.Key, h.Does, rank))
		}
	}
	add(1, m.hints()...)
	if m.editing() {
		return groups
	}
	add(0, pane.Hint{Key: m.keys.Of("zoom"), Does: zoom}, pane.Hint{Key: m.keys.Of("help"), Does: "explain"})
	add(2, pane.Hint{Key: m.keys.Of("next pane"), Does: "next pane"}, pane.Hint{Key: "esc", Does: "back"})
	add(3, pane.Hint{Key: m.keys.Of("quit"), Does: "quit"})
	return groups
}

// hints returns the focused pane's own keys as the user has them.
func (m *Model) hints() []pane.Hint {
	hints := slices.Clone(m.panes[m.focus].Hints())
	for i, h := range hints {
		hints[i].Key = m.keys.Hint(h.Key)
	}
	return hints
}

// keyGroups returns rows as they are shown in the footer.
func (m *Model) keyGroups(table []keys.Row, how naming) []widget.KeyGroup {
	var groups []widget.KeyGroup
	for _, r := range table {
		name := r.Short
		if how == inFull && r.Long != "" {
			name = r.Long
		}
		if r.Action == "pause" && m.snap != nil && m.paused() {
			name = "go on"
		}
		ps := []widget.Piece{{Text: r.Name(), Style: theme.Key}}
		if name != "" && !(how == byState && r.Setting != nil) {
			ps = append(ps, widget.Piece{Text: " " + name, Style: theme.Plain})
		}
		if r.Setting != nil {
			text, pending := m.inFooter(&r)
			ps = append(ps, widget.Piece{Text: " " + text, Style: stateStyle(text, pending)})
		}
		groups = append(groups, widget.KeyGroup{Pieces: ps, Rank: r.Rank})
	}
	return groups
}

func stateStyle(text string, pending bool) theme.Style {
	switch {
	case pending:
		return theme.Pending
	case text == "●":
		return theme.Good
	case text == "○":
		return theme.Faint
	}
	return theme.Strong
}
