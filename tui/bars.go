package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// This file is the header and the footer.

// piece is a part of a bar; the pieces of the highest rank leave first where
// there is no room.
type piece struct {
	text  string
	style theme.Style
	rank  int
}

func width(pieces []piece) int {
	n := 0
	for _, p := range pieces {
		n += chart.Width(p.text)
	}
	return n
}

// drop removes the last of the pieces with the highest rank; those of rank 0
// stay.
func drop(groups ...*[]piece) bool {
	var from *[]piece
	at, worst := -1, 0
	for _, g := range groups {
		for i, p := range *g {
			if p.rank > 0 && p.rank >= worst {
				from, at, worst = g, i, p.rank
			}
		}
	}
	if from == nil {
		return false
	}
	*from = append((*from)[:at], (*from)[at+1:]...)
	return true
}

func put(c *chart.Canvas, x, y int, pieces []piece) int {
	for _, p := range pieces {
		x = c.Text(x, y, p.text, p.style)
	}
	return x
}

// header is what runs on what, how far it is, and since when.
func (m *Model) header() []string {
	w := m.layout.header.w
	left, middle, right := m.headerPieces()
	for width(left)+width(middle)+width(right)+6 > w && drop(&left, &middle, &right) {
	}
	var c chart.Canvas
	c.Resize(w, 1)
	end := put(&c, 1, 0, left)
	from := w - 1 - width(right)
	put(&c, from, 0, right)
	if width(middle) > 0 {
		put(&c, max(end+2, min((w-width(middle))/2, from-2-width(middle))), 0, middle)
	}
	return c.Lines(m.theme)
}

func (m *Model) headerPieces() (left, middle, right []piece) {
	left = []piece{{"prismtop", theme.Brand, 0}}
	s := m.snap
	if s == nil {
		return left, nil, []piece{{"◌ preparing", theme.Faint, 0}}
	}
	r := s.Run
	left = append(left, piece{"  " + chart.Cut(r.Object, 24), theme.Strong, 4})
	if r.Size > 0 {
		left = append(left, piece{fmt.Sprintf(" %d/%d", r.Size, r.ObjectSize), theme.Plain, 5})
	}
	if r.Device != "" {
		left = append(left, piece{fmt.Sprintf(" · %s %s ×%d", r.Device, r.Kernels, m.threads()), theme.Faint, 7})
	}
	left = append(left, piece{" · " + precision(s), theme.Faint, 6})

	if s.Stage == profiles.Initialising {
		middle = append(middle, piece{"initialising", theme.Plain, 2})
	} else if all := r.AllSamples(); all > 0 {
		digits := len(itoa(all))
		middle = append(middle, piece{fmt.Sprintf("sample %*d/%d", digits, min(s.Sample+1, all), all), theme.Strong, 2})
	}
	middle = append(middle, piece{fmt.Sprintf(" · iter %d", s.Index), theme.Plain, 3})
	if !ended(s.State) && s.Index > 0 {
		middle = append(middle, piece{" · " + rate(s.Rate), theme.Plain, 2})
	}

	right = append(slices.Concat(othersPieces(s), m.alertLamp(), ablationPieces(s)), piece{clock(s.Elapsed), theme.Plain, 2})
	if s.ETAKnown && !ended(s.State) {
		right = append(right, piece{"  left " + clock(s.ETA), theme.Faint, 8})
	}
	lamp, style := stateLamp(m.state(), m.options.ASCII)
	return left, middle, append(right, piece{"  " + lamp, style, 0})
}

// precision is the arithmetic of the run: fp32, or the AMP mode.
func precision(s *profiles.Snapshot) string {
	switch amp := settingsOf(s).AMP; amp {
	case "", "off":
		return "fp32"
	case "fp16":
		if s.GradientScale > 0 && !math.IsInf(s.GradientScale, 0) {
			amp = fmt.Sprintf("fp16 scale %.0f", s.GradientScale)
		}
		if s.SkippedSteps > 0 {
			amp += fmt.Sprintf(" %s skipped", count(s.SkippedSteps))
		}
		return amp
	default:
		return amp
	}
}

// state is what the run does, as asked for or as reported.
func (m *Model) state() profiles.State {
	s := m.snap.State
	if m.wantPaused != nil && *m.wantPaused && s == profiles.Running {
		return profiles.Paused
	}
	return s
}

// stateLamp is a run's state, all equally wide.
func stateLamp(s profiles.State, ascii bool) (string, theme.Style) {
	lamp, style := "●", theme.Good
	switch s {
	case profiles.Preparing:
		lamp, style = "◌", theme.Faint
	case profiles.Paused:
		if style = theme.Warn; ascii {
			return fmt.Sprintf("|| %-8s", s), style
		}
		lamp = "‖"
	case profiles.Finished:
		lamp = "✓"
	case profiles.Stopped:
		lamp, style = "○", theme.Faint
	case profiles.Failed:
		lamp, style = "✗", theme.Bad
	}
	return fmt.Sprintf("%s %-9s", lamp, s), style
}

// footer is the keys with what they switch, or those of the pane that has them, a
// status, and what the screen costs.
func (m *Model) footer() []string {
	w, h := m.layout.footer.w, m.layout.footer.h
	var c chart.Canvas
	c.Resize(w, h)
	right := m.costPieces()
	room := w - 3 - width(right)
	put(&c, w-1-width(right), h-1, right)

	first := m.focusKeys()
	if first == nil {
		first = keyPieces(m, withPairs(), h == 1)
		if keyWidth(slices.DeleteFunc(slices.Clone(first), func(g keyGroup) bool { return g.rank > 6 })) > w-2 {
			first = keyPieces(m, withPairs(), true)
		}
	}
	actions := m.actions(h == 1)
	switch {
	case h == 2:
		settings, _ := fit(first, w-2)
		put(&c, 1, 0, settings)
	case m.focus != noPane:
		actions = first
	default:
		actions = append(first, actions...)
	}
	keys, missing := fit(actions, room)
	if terse, without := fit(m.actions(true), room); h == 2 && without > missing {
		keys = terse
	}
	m.told(&c, h-1, room, keys)
	return c.Lines(m.theme)
}

// told writes the keys of a row, and what there is to tell beside them; a status that
// has no room there is in their place.
func (m *Model) told(c *chart.Canvas, y, room int, keys []piece) {
	text, style := m.statusLine()
	if text != "" && width(keys)+keyGap+chart.Width(text) > room {
		c.Text(1, y, chart.Cut(text, room), style)
		return
	}
	x := put(c, 1, y, keys)
	left := room + 1 - x - keyGap
	if alert, look := m.newestAlert(); text == "" && alert != "" && y > 0 && left >= alertLeast {
		text, style = chart.Cut(alert, left), look
	}
	c.Text(x+keyGap, y, text, style)
}

// actions are the keys that are no settings, as far as the first line of a footer of
// two has not got them.
func (m *Model) actions(terse bool) []keyGroup {
	groups := keyPieces(m, slices.Concat(runKeys, tuningKeys, screenKeys), terse)
	if m.focus == noPane {
		return groups
	}
	return slices.DeleteFunc(groups, func(g keyGroup) bool {
		switch g.pieces[0].text {
		case "?", "tab":
			return true
		case "space":
			return m.focus == settingsPane
		}
		return false
	})
}

// focusKeys are the keys of the pane that has them; nil where none has.
func (m *Model) focusKeys() []keyGroup {
	if m.focus == noPane {
		return nil
	}
	zoom := "zoom"
	if m.zoomed {
		zoom = "unzoom"
	}
	groups := []keyGroup{{[]piece{{paneNames[m.focus] + ":", theme.Strong, 0}}, 0}}
	add := func(rank int, hints ...hint) {
		for _, h := range hints {
			groups = append(groups, keyGroup{[]piece{{h.Key, theme.Key, 0}, {" " + h.Does, theme.Plain, 0}}, rank})
		}
	}
	add(1, m.panes[m.focus].Hints()...)
	add(0, hint{"z", zoom}, hint{"?", "explain"})
	add(2, hint{"tab", "next pane"}, hint{"esc", "back"})
	return groups
}

// arrangementName is the arrangement on screen, all equally wide.
func arrangementName(m *Model) (string, bool) {
	return fmt.Sprintf("%-10s", m.arrangement().name), false
}

// panesShown is how many panes are on screen, of how many there are.
func panesShown(m *Model) (string, bool) {
	return fmt.Sprintf("%2d/%d", m.layout.shown(), numPanes), false
}

// withPairs are the keys of settings with the pairs in place of their halves.
func withPairs() []binding {
	var shown []binding
	for _, b := range settingKeys {
		if b.state != nil {
			shown = append(shown, b)
		}
	}
	return append(shown, pairs...)
}

// keyGroup is the pieces of one binding in the footer, and its rank.
type keyGroup struct {
	pieces []piece
	rank   int
}

// lastRank is the highest rank of a binding.
const lastRank = 9

// keyGap is the room between two bindings in the footer.
const keyGap = 2

// keyWidth is the room that bindings take side by side.
func keyWidth(groups []keyGroup) int {
	n := -keyGap
	for _, g := range groups {
		n += width(g.pieces) + keyGap
	}
	return n
}

// keyPieces are the bindings of a table that belong in the footer. Terse ones
// go without the names that their values explain; in a footer of one line all
// settings do.
func keyPieces(m *Model, table []binding, terse bool) []keyGroup {
	var groups []keyGroup
	for _, b := range table {
		short := b.short
		if short == "" && b.state == nil || b.state != nil && m.snap == nil {
			continue
		}
		if short == "pause" && m.snap != nil && m.paused() {
			short = "go on"
		}
		if m.layout.footer.h == 1 {
			short, _, _ = strings.Cut(short, ",")
		}
		ps := []piece{{b.Help().Key, theme.Key, 0}}
		if short != "" && !(terse && b.state != nil && (b.terse || m.layout.footer.h == 1)) {
			ps = append(ps, piece{" " + short, theme.Plain, 0})
		}
		if b.state != nil {
			text, pending := b.state(m)
			ps = append(ps, piece{" " + text, stateStyle(text, pending), 0})
		}
		groups = append(groups, keyGroup{ps, b.rank})
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

// fit keeps the groups that fit into w cells, those of low rank first, in their
// order, and tells the lowest rank of those that did not.
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
			out = append(out, piece{strings.Repeat(" ", keyGap), theme.Plain, 0})
		}
		out = append(out, g.pieces...)
	}
	return out, missing
}
