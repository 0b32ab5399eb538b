package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/transport"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// This file draws the footer.

// footer returns the lines of the footer: the keys with the values they change, or those of the
// focused pane, the answer to the last key, and the screen's cost.
func (m *Model) footer() []string {
	w, h := m.layout.Footer.W, m.layout.Footer.H
	var c chart.Canvas
	c.Resize(w, h)
	right := m.costPieces()
	room := w - 3 - widget.Width(right)
	widget.Put(&c, w-1-widget.Width(right), h-1, right)

	first := m.focusKeys()
	replays := first == nil && h == 2 && m.can(canPlay)
	if first == nil {
		first = m.settingPieces(w-2, h == 1)
	}
	actions := m.actions(room, h == 1)
	switch {
	case replays:
		transport.Draw(&c, 0, m.powers.Player.Position(), m.options.ASCII)
	case h == 2:
		settings, _ := widget.FitKeys(first, w-2)
		widget.Put(&c, 1, 0, settings)
	case m.focus != layout.None || m.typing != nil:
		actions = first
	case m.over():
		actions = append(actions, first...)
	default:
		actions = append(first, actions...)
	}
	keys, missing := widget.FitKeys(actions, room)
	if h == 2 && missing <= widget.LastRank {
		if terse, without := widget.FitKeys(m.actions(room, true), room); without > missing {
			keys = terse
		}
	}
	m.told(&c, h-1, room, keys)
	return c.Lines(m.theme)
}

// settingPieces returns the keys of settings for w cells, labelled as those of the next run after
// a run has ended.
func (m *Model) settingPieces(w int, terse bool) []widget.KeyGroup {
	var label []widget.KeyGroup
	if m.over() {
		label = []widget.KeyGroup{{Pieces: []widget.Piece{{Text: "next run:", Style: theme.Strong}}}}
	}
	groups := append(label, keyPieces(m, m.keys.footer, terse)...)
	if !terse && widget.KeyWidth(slices.DeleteFunc(slices.Clone(groups), func(g widget.KeyGroup) bool { return g.Rank > words.LastHandy })) > w {
		groups = append(label, keyPieces(m, m.keys.footer, true)...)
	}
	if terse && m.over() { // shares the line with the actions, none of which may be dropped for a setting
		for i := range groups {
			groups[i].Rank += 2
		}
	}
	return groups
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

// over reports whether the run on screen has ended.
func (m *Model) over() bool { return m.snap != nil && words.Ended(m.snap.State) }

// editing reports whether keys are typed into a setting's value.
func (m *Model) editing() bool {
	e, _ := m.editor()
	return m.typing != nil || e != nil && e.Editing()
}

// actions returns the keys other than those of settings for a row of room cells, without those in
// the first line of a two-line footer.
func (m *Model) actions(room int, terse bool) []widget.KeyGroup {
	if m.editing() { // takes all other keys
		return []widget.KeyGroup{widget.Hint("ctrl+c", "quit", 0)}
	}
	table := slices.Concat(m.keys.run, m.keys.play, m.keys.tuning, screenKeys)
	if m.over() && !m.can(canPlay) {
		table = m.afterTheEnd(table, room)
	}
	groups := keyPieces(m, table, terse)
	if m.focus == layout.None {
		return groups
	}
	return slices.DeleteFunc(groups, func(g widget.KeyGroup) bool {
		switch g.Pieces[0].Text {
		case "?", "tab":
			return true
		case "space":
			return m.focus == m.deck.Find(settingsPane)
		}
		return false
	})
}

// afterTheEnd returns a table without the keys that need a running run, with restart ranked
// first.
func (m *Model) afterTheEnd(table []binding, room int) []binding {
	var left []binding
	for _, b := range table {
		switch b.Keys()[0] {
		case "space", "n", "A":
			continue
		case "R":
			b.rank = 0
			if changed := m.changedNext(); len(changed) > 0 {
				b.short = nextRunText(changed, room)
			}
		case "s", "P":
			b.rank = 1
		}
		left = append(left, b)
	}
	return left
}

// nextRunText describes the run that R starts, with the settings changed since the end, leaving
// room for the keys that are always shown in the row.
func nextRunText(changed []string, room int) string {
	const others = 35
	all := strings.Join(changed, ", ")
	return words.FittingOrLast(room-others, "starts the next run with "+all, "next run: "+all,
		"next: "+unit.About(int64(len(changed)), "change", "changes"))
}

// focusKeys returns the keys of the focused pane, nil if there is none.
func (m *Model) focusKeys() []widget.KeyGroup {
	if m.typing != nil {
		return m.typingKeys()
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
	add(1, m.panes[m.focus].Hints()...)
	if m.editing() {
		return groups
	}
	add(0, pane.Hint{Key: "z", Does: zoom}, pane.Hint{Key: "?", Does: "explain"})
	add(2, pane.Hint{Key: "tab", Does: "next pane"}, pane.Hint{Key: "esc", Does: "back"})
	return groups
}

// arrangementName returns the name of the current arrangement, padded to a fixed width.
func arrangementName(m *Model) (string, bool) {
	return fmt.Sprintf("%-10s", m.arrangement().Name), false
}

// panesHidden returns the number of hidden panes, as on the edge of the last pane.
func panesHidden(m *Model) (string, bool) {
	if m.layout.Unseen == 0 || m.zoomed {
		return "panes", false
	}
	return strconv.Itoa(m.layout.Unseen) + " hidden", false
}

// keyPieces returns the bindings of a table that are shown in the footer. With terse, names
// explained by their values are omitted; a footer of one line omits the names of all settings.
func keyPieces(m *Model, table []binding, terse bool) []widget.KeyGroup {
	var groups []widget.KeyGroup
	for _, b := range table {
		short, rank := b.short, b.rank
		if short == "" && b.state == nil || b.state != nil && m.snap == nil {
			continue
		}
		if short == "pause" && m.snap != nil && m.paused() {
			short = "go on"
		}
		if m.layout.Footer.H == 1 {
			short, _, _ = strings.Cut(short, ",")
		}
		ps := []widget.Piece{{Text: b.Help().Key, Style: theme.Key}}
		if short != "" && !(terse && b.state != nil && (b.terse || m.layout.Footer.H == 1)) {
			ps = append(ps, widget.Piece{Text: " " + short, Style: theme.Plain})
		}
		if b.state != nil {
			text, pending := b.state(m)
			if pending && m.over() {
				rank = 0
			}
			ps = append(ps, widget.Piece{Text: " " + text, Style: stateStyle(text, pending)})
		}
		groups = append(groups, widget.KeyGroup{Pieces: ps, Rank: rank})
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
