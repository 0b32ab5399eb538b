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
	"prismtop/tui/words"
)

// This file draws the footer.

// piece is a styled part of a bar.
type piece struct {
	text  string
	style theme.Style
}

func width(pieces []piece) int {
	n := 0
	for _, p := range pieces {
		n += chart.Width(p.text)
	}
	return n
}

func put(c *chart.Canvas, x, y int, pieces []piece) int {
	for _, p := range pieces {
		x = c.Text(x, y, p.text, p.style)
	}
	return x
}

// footer returns the lines of the footer: the keys with the values they change, or those of the
// focused pane, the answer to the last key, and the screen's cost.
func (m *Model) footer() []string {
	w, h := m.layout.Footer.W, m.layout.Footer.H
	var c chart.Canvas
	c.Resize(w, h)
	right := m.costPieces()
	room := w - 3 - width(right)
	put(&c, w-1-width(right), h-1, right)

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
		settings, _ := fit(first, w-2)
		put(&c, 1, 0, settings)
	case m.focus != layout.None:
		actions = first
	case m.over():
		actions = append(actions, first...)
	default:
		actions = append(first, actions...)
	}
	keys, missing := fit(actions, room)
	if h == 2 && missing <= lastRank {
		if terse, without := fit(m.actions(room, true), room); without > missing {
			keys = terse
		}
	}
	m.told(&c, h-1, room, keys)
	return c.Lines(m.theme)
}

// settingPieces returns the keys of settings for w cells, labelled as those of the next run after
// a run has ended.
func (m *Model) settingPieces(w int, terse bool) []keyGroup {
	var label []keyGroup
	if m.over() {
		label = []keyGroup{{[]piece{{"next run:", theme.Strong}}, 0}}
	}
	groups := append(label, keyPieces(m, m.keys.footer, terse)...)
	if !terse && keyWidth(slices.DeleteFunc(slices.Clone(groups), func(g keyGroup) bool { return g.rank > words.LastHandy })) > w {
		groups = append(label, keyPieces(m, m.keys.footer, true)...)
	}
	if terse && m.over() { // shares the line with the actions, none of which may be dropped for a setting
		for i := range groups {
			groups[i].rank += 2
		}
	}
	return groups
}

// told draws the keys of a row and the status beside them. An answer to a key that does not fit
// there temporarily replaces the keys, and if longer also the screen's cost. News is not shown
// then; it remains in the log.
func (m *Model) told(c *chart.Canvas, y, room int, keys []piece) {
	w, _ := c.Size()
	text, style := m.statusLine(w - 2)
	if text == "" || width(keys)+keyGap+chart.Width(text) <= room {
		c.Text(put(c, 1, y, keys)+keyGap, y, text, style)
		return
	}
	if m.status.news {
		put(c, 1, y, keys)
		return
	}
	if chart.Width(text) > room {
		c.Fill(0, y, w, 1, ' ', theme.Plain)
		room = w - 2
	}
	c.Text(1, y, chart.Cut(text, room), style)
}

// over reports whether the run on screen has ended.
func (m *Model) over() bool { return m.snap != nil && words.Ended(m.snap.State) }

// editing reports whether keys are typed into a setting's value.
func (m *Model) editing() bool {
	e, _ := m.editor()
	return e != nil && e.Editing()
}

// actions returns the keys other than those of settings for a row of room cells, without those in
// the first line of a two-line footer.
func (m *Model) actions(room int, terse bool) []keyGroup {
	if m.editing() { // takes all other keys
		return []keyGroup{{[]piece{{"ctrl+c", theme.Key}, {" quit", theme.Plain}}, 0}}
	}
	table := slices.Concat(m.keys.run, m.keys.play, m.keys.tuning, screenKeys)
	if m.over() && !m.can(canPlay) {
		table = m.afterTheEnd(table, room)
	}
	groups := keyPieces(m, table, terse)
	if m.focus == layout.None {
		return groups
	}
	return slices.DeleteFunc(groups, func(g keyGroup) bool {
		switch g.pieces[0].text {
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
func (m *Model) focusKeys() []keyGroup {
	if m.focus == layout.None {
		return nil
	}
	zoom := "zoom"
	if m.zoomed {
		zoom = "unzoom"
	}
	groups := []keyGroup{{[]piece{{m.paneName(m.focus) + ":", theme.Strong}}, 0}}
	add := func(rank int, hints ...pane.Hint) {
		for _, h := range hints {
			groups = append(groups, keyGroup{[]piece{{h.Key, theme.Key}, {" " + h.Does, theme.Plain}}, rank})
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

// keyGroup is the pieces of one binding in the footer, with its rank.
type keyGroup struct {
	pieces []piece
	rank   int
}

// lastRank is the highest rank of a group.
const lastRank = 11

// keyGap is the space between two bindings in the footer.
const keyGap = 2

// keyWidth returns the width of bindings side by side.
func keyWidth(groups []keyGroup) int {
	n := -keyGap
	for _, g := range groups {
		n += width(g.pieces) + keyGap
	}
	return n
}

// keyPieces returns the bindings of a table that are shown in the footer. With terse, names
// explained by their values are omitted; a footer of one line omits the names of all settings.
func keyPieces(m *Model, table []binding, terse bool) []keyGroup {
	var groups []keyGroup
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
		ps := []piece{{b.Help().Key, theme.Key}}
		if short != "" && !(terse && b.state != nil && (b.terse || m.layout.Footer.H == 1)) {
			ps = append(ps, piece{" " + short, theme.Plain})
		}
		if b.state != nil {
			text, pending := b.state(m)
			if pending && m.over() {
				rank = 0
			}
			ps = append(ps, piece{" " + text, stateStyle(text, pending)})
		}
		groups = append(groups, keyGroup{ps, rank})
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

// fit selects groups that fit in w cells, by increasing rank, and keeps their order. missing is
// the lowest rank of those that do not fit.
func fit(groups []keyGroup, w int) (out []piece, missing int) {
	keep := make([]bool, len(groups))
	used := 0
	missing = lastRank + 1
	for rank := 0; rank <= lastRank; rank++ {
		for i, g := range groups {
			if g.rank == rank && used+width(g.pieces) <= w {
				used += width(g.pieces) + keyGap
				keep[i] = true
			}
		}
	}
	for i, g := range groups {
		if !keep[i] {
			missing = min(missing, g.rank)
			continue
		}
		if len(out) > 0 {
			out = append(out, piece{strings.Repeat(" ", keyGap), theme.Plain})
		}
		out = append(out, g.pieces...)
	}
	return out, missing
}
