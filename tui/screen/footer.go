package screen

import (
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
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

// footer is the line below the panes in one frame: the keys that matter most, or those of the focused pane, the answer
// to the last key, and the screen's cost. A replay has a line above it with its position.
type footer struct {
	*answers
	run   *asking
	keys  *bindings
	tiles *tiling
	cost  *cost

	typing   *typing            // the open field, nil for none
	position *profiles.Position // of a replay, nil for none
	paused   bool
	deciding string // the progress of the decision under way, empty for none
	ascii    bool
}

// footerKeys is the number of keys that the footer offers while no pane has the focus.
const footerKeys = 6

// naming is how much the footer says of each key.
type naming uint8

const (
	inFull  naming = iota
	inShort        // the short names
	byState        // settings by their values alone
)

// draw draws the footer. Where the keys do not fit, the cost
// loses its interval, which the help has; then names are shortened, and those of settings dropped.
func (f *footer) draw(c *chart.Canvas) {
	w, h := c.Size()
	if h > 1 {
		transport.Draw(c, 0, *f.position, f.ascii)
	}
	var right, keys []widget.Piece
	var room int
	for _, form := range []struct {
		naming
		brief bool
	}{{inFull, false}, {inFull, true}, {inShort, true}, {byState, true}} {
		right = f.cost.pieces(form.brief)
		room = w - 3 - widget.Width(right)
		var missing int
		if keys, missing = widget.FitKeys(f.offered(form.naming, room), room); missing > widget.LastRank {
			break
		}
	}
	widget.Put(c, w-1-widget.Width(right), h-1, right)
	f.told(c, h-1, room, keys)
}

// offered returns the keys in the footer, for room cells.
func (f *footer) offered(how naming, room int) []widget.KeyGroup {
	if f.typing != nil {
		return f.typing.hints()
	}
	if f.tiles.focus != layout.None {
		return f.focusKeys()
	}
	table := f.table(room)
	groups := f.keyGroups(table, how)
	if f.run.over() && f.keys.can(profiles.RestartCommand) && len(f.keys.Rows(keys.Settings)) > 0 {
		label := widget.KeyGroup{Pieces: []widget.Piece{{Text: "next run:", Style: theme.Strong}}, Rank: 3}
		groups = append([]widget.KeyGroup{label}, groups...)
	}
	return groups
}

// table returns the rows in the footer: those of the lowest ranks, in the order of their sections.
func (f *footer) table(room int) []keys.Row {
	var table []keys.Row
	for _, section := range []keys.Section{keys.Settings, keys.Tuning, keys.Run, keys.Replay, keys.Screen} {
		table = append(table, f.keys.Rows(section)...)
	}
	table = slices.DeleteFunc(table, func(r keys.Row) bool {
		return r.Short == "" || r.Setting != nil && f.run.snap == nil
	})
	if f.run.over() && !f.keys.can(profiles.PlayCommand) {
		table = f.afterTheEnd(table, room)
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
func (f *footer) told(c *chart.Canvas, y, room int, keys []widget.Piece) {
	w, _ := c.Size()
	text, style := f.statusLine(w - 2)
	if f.status.news && f.deciding == "" && !widget.Beside(room, keys, text) {
		text = ""
	}
	widget.Tell(c, y, room, keys, text, style)
}

// afterTheEnd returns the rows of a run that is over: those that need a running run give way to restart and save.
// Settings are the first to be dropped, unless they were changed for the next run. Without a restart, none is left.
func (f *footer) afterTheEnd(table []keys.Row, room int) []keys.Row {
	var left []keys.Row
	for _, r := range table {
		switch {
		case r.During, r.Setting != nil && !f.keys.can(profiles.RestartCommand):
			continue
		case r.Action == "restart":
			if changed := f.run.changedNext(); len(changed) > 0 {
				r.Short = nextRunText(changed, room)
			}
		case r.Setting != nil:
			r.Rank += 2
			if _, pending := f.inFooter(&r); pending {
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
func (f *footer) focusKeys() []widget.KeyGroup {
	if f.typing != nil {
		return f.typing.hints()
	}
	if f.tiles.focus == layout.None {
		return nil
	}
	zoom := "zoom"
	if f.tiles.zoomed {
		zoom = "unzoom"
	}
	groups := []widget.KeyGroup{
		{Pieces: []widget.Piece{{Text: f.tiles.paneName(f.tiles.focus) + ":", Style: theme.Strong}}}}
	add := func(rank int, hints ...pane.Hint) {
		for _, h := range hints {
			groups = append(groups, widget.Hint(h.Key, h.Does, rank))
		}
	}
	add(1, f.tiles.hints(f.keys)...)
	if f.tiles.editing() {
		return groups
	}
	add(0, pane.Hint{Key: f.keys.Of("zoom"), Does: zoom}, pane.Hint{Key: f.keys.Of("help"), Does: "explain"})
	add(2, pane.Hint{Key: f.keys.Of("next pane"), Does: "next pane"}, pane.Hint{Key: "esc", Does: "back"})
	add(3, pane.Hint{Key: f.keys.Of("quit"), Does: "quit"})
	return groups
}

// keyGroups returns rows as they are shown in the footer.
func (f *footer) keyGroups(table []keys.Row, how naming) []widget.KeyGroup {
	var groups []widget.KeyGroup
	for _, r := range table {
		name := r.Short
		if how == inFull && r.Long != "" {
			name = r.Long
		}
		if r.Action == "pause" && f.run.snap != nil && f.paused {
			name = "go on"
		}
		ps := []widget.Piece{{Text: r.Name(), Style: theme.Key}}
		if name != "" && !(how == byState && r.Setting != nil) {
			ps = append(ps, widget.Piece{Text: " " + name, Style: theme.Plain})
		}
		if r.Setting != nil {
			text, pending := f.inFooter(&r)
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

// inFooter returns the value of the setting that a row changes, and whether it is not in force yet: a lamp for a
// switch, otherwise text of a fixed width, so that nothing moves.
func (f *footer) inFooter(r *keys.Row) (shown string, pending bool) {
	value, pending := f.run.value(r.Setting.Name)
	switch {
	case r.Setting.Type == settings.TypeSwitch && value == "true":
		return "●", pending
	case r.Setting.Type == settings.TypeSwitch:
		return "○", pending
	}
	value = f.run.textOf(r.Setting.Name, value)
	return value + strings.Repeat(" ", max(0, widthOf(r.Setting)-len(value))), pending
}

// widthOf returns the width of a setting's values in the footer: that of the longest of a choice, and of a
// number at most that of four digits.
func widthOf(k *settings.Key) (w int) {
	for _, v := range k.Allowed {
		w = max(w, len(v))
	}
	if k.Type == settings.TypeInteger {
		for w = 1; w < 4 && k.Max >= 10; w++ {
			k = &settings.Key{Max: k.Max / 10}
		}
	}
	return w
}

// statusLine returns the current status, in a version that fits in w cells if there is one.
func (f *footer) statusLine(w int) (string, theme.Style) {
	style := theme.Warn
	switch {
	case f.status.bad:
		style = theme.Bad
	case f.deciding != "":
		return words.FittingOrLast(w, f.whileDeciding()...), theme.Pending
	case len(f.status.heard) > 0:
		return f.page(w), style
	}
	return words.FittingOrLast(w, append([]string{f.status.text}, f.status.brief...)...), style
}

// whileDeciding returns the progress of a decision, from its longest version to its shortest: with the answer to
// the key that began it.
func (f *footer) whileDeciding() []string {
	var texts []string
	if f.status.text != "" && !f.status.news {
		for _, answer := range append([]string{f.status.text}, f.status.brief...) {
			texts = append(texts, f.deciding+separator+answer)
		}
	}
	return append(texts, f.deciding)
}
