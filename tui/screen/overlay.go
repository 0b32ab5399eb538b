package screen

import tea "charm.land/bubbletea/v2"

// overlay is a list, a field or a question that lies over the panes and takes the keys until it is closed. ctrl+c and
// ctrl+l never reach it.
type overlay interface {
	// box returns its lines.
	box(m *Model) []string
	// press handles a key. left reports that the key closed it, and keeps its usual meaning.
	press(m *Model, key string) (cmd tea.Cmd, left bool)
}

// overlays are the open ones, the last on top of the others. At most one is a list or a field: only the question whether
// to quit opens over another.
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
	for i, x := range o.open {
		if _, ok := x.(T); ok {
			o.open = append(o.open[:i:i], o.open[i+1:]...)
			return
		}
	}
}

// listing reports whether a list is open, or the field of a setting: a click beside it closes it.
func (o *overlays) listing() bool {
	switch o.top().(type) {
	case *chooser, *valueList, *comparing, *exporting, *typing:
		return true
	}
	return false
}
