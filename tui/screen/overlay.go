package screen

import (
	tea "charm.land/bubbletea/v2"

	"prismtop/tui/chart"
	"prismtop/tui/widget"
)

// overlay is a list, a field or a question that lies over the panes and takes the keys until it is closed. ctrl+c,
// ctrl+l and ctrl+z never reach it.
type overlay interface {
	// box draws it.
	box(in room) *chart.Canvas
	// press handles a key.
	press(key string) (tea.Cmd, outcome)
}

// outcome is what a key did to an overlay.
type outcome uint8

const (
	held    outcome = iota // it stays open
	closed                 // it closes
	passed                 // it closes, and the key keeps its usual meaning
	unheard                // it stays open, and the key has no meaning in it
)

// room is the screen that an overlay may fill.
type room struct{ w, h int }

// dialog returns a framed box with a title and a footer around w by h cells filled by draw.
func (r room) dialog(title, foot string, w, h int, draw func(c *chart.Canvas)) *chart.Canvas {
	return widget.Dialog(title, foot, min(w+4, r.w), min(h+2, r.h), draw)
}

// overlays are the open ones, the last on top of the others. At most one is a list or a field: only the question
// whether to quit opens over another.
type overlays struct{ open []overlay }

// top returns the overlay that takes the keys, nil for none.
func (o *overlays) top() overlay {
	if len(o.open) == 0 {
		return nil
	}
	return o.open[len(o.open)-1]
}

// lay opens an overlay on top of the others.
func (o *overlays) lay(over overlay) { o.open = append(o.open, over) }

// lift closes the overlay on top.
func (o *overlays) lift() { o.open = o.open[:len(o.open)-1] }

// press gives a key to the overlay on top, and returns what it did there.
func (o *overlays) press(key string) (cmd tea.Cmd, came outcome) {
	top := o.top()
	cmd, came = top.press(key)
	if came == closed || came == passed {
		o.close(func(x overlay) bool { return x == top })
	}
	return cmd, came
}

// selects moves the selected row of a list of n by a key.
func selects(row *int, key string, n int) outcome {
	to, ok := widget.Around(key, *row, n)
	if !ok {
		return unheard
	}
	*row = to
	return held
}

// close closes the overlay that has a property, if one is open.
func (o *overlays) close(has func(overlay) bool) {
	for i, x := range o.open {
		if has(x) {
			o.open = append(o.open[:i:i], o.open[i+1:]...)
			return
		}
	}
}

// opened returns the open overlay of a kind, its zero value if there is none.
func opened[T overlay](o *overlays) (over T, ok bool) {
	for _, x := range o.open {
		if over, ok = x.(T); ok {
			return over, true
		}
	}
	return over, false
}

// discard closes the overlay of a kind, if it is open.
func discard[T overlay](o *overlays) {
	o.close(func(x overlay) bool { _, ok := x.(T); return ok })
}

// listing reports whether a list is open, or the field of a setting: a click beside it closes it.
func (o *overlays) listing() bool {
	switch o.top().(type) {
	case *chooser, *valueList, *comparing, *exporting, *typing:
		return true
	}
	return false
}
