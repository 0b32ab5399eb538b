// Package pane provides the panes of the screen: the Pane and Host interfaces, the parts that
// panes share, and the panes of every workload, a file each.
//
// To read one, begin with units.go, which is short. A pane draws the newest snapshot that its Host has into the
// rectangle that it is given, and knows nothing of who shows it; its Spec says what a run must offer for it. Panes of
// imaging workloads and others that only some have are in packages below.
package pane

import (
	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
)

// The interfaces Pane and those that some panes also implement, and the Spec of a pane.

// Pane is a part of the screen. The screen sets a pane's size, passes it snapshots and asks for
// its cells; a pane redraws only after a change. Every pane embeds a Box, which implements all
// methods but Cells.
type Pane interface {
	SetSize(w, h int)
	SetTheme(t *theme.Theme)
	// SetCorner sets the screen's text in the lower edge of its last pane.
	SetCorner(text string)
	Update(s *profiles.Snapshot)
	// SetFocus sets whether the pane receives the keys.
	SetFocus(on bool)
	// Press handles a key while the pane has the focus; false leaves the key to the screen. A
	// pane's keys are the arrows, pgup, pgdown, home and end, v for its next view, x for its next
	// scale or colours and i for the way of drawing, whichever keys the user has for these three.
	Press(key string) bool
	// Explain describes the pane's terms and how its numbers are measured, one string per
	// paragraph.
	Explain() []string
	// Hints returns the pane's own keys and their actions, for the footer.
	Hints() []Hint
	// Redraw makes the next call of Cells draw the pane again even if nothing changed.
	Redraw()
	// Cells returns the pane as it is on the screen.
	Cells() *chart.Canvas
}

// EffectPicker is a pane in which a change of settings can be selected.
type EffectPicker interface {
	// Picked returns the selected change, or nil.
	Picked(s *profiles.Snapshot) *profiles.Effect
}

// Teller is a pane that reports, once, what the last key did.
type Teller interface{ Tell() string }

// Pictured is a pane that draws pictures, which take more bytes than anything else.
type Pictured interface {
	// SetBudget sets the bytes per second that pictures may take, 0 for no limit, and whether to
	// draw them in the cheapest way.
	SetBudget(bytesPerSecond int, cheapest bool)
}

// Editor is a pane that edits the values of settings.
type Editor interface {
	// Editing reports whether keys edit a value.
	Editing() bool
	// Paste inserts pasted text into the value being edited.
	Paste(text string)
	// Checked passes the result of Host.Check for a value.
	Checked(key string, err error)
}

// Hint is a key of a pane and its action, in a word or two.
type Hint struct{ Key, Does string }

// Spec describes a pane before it is made. A pane is registered only by its Spec, in the list of
// a screen's panes.
type Spec struct {
	// Name is the pane's name in lists, in arrangements and in the remembered state.
	Name string
	// Called returns the name in a given run; nil if it is always Name.
	Called func(*profiles.RunInfo) string
	// Shape is the size that the pane asks for, Roomy its size in arrangements with room for
	// everything it can show.
	Shape, Roomy layout.Shape
	// Rows returns the rows of the pane's content in a run; nil if it takes what it gets.
	Rows func(*profiles.RunInfo) int
	// Joins lists the arrangements that include the pane although their plans do not name it.
	Joins []string
	// Needs reports whether a run has the pane's data; nil if every run has.
	Needs func(*profiles.RunInfo) bool
	// Lacks reports whether the pane has nothing to show so far, though the run might have, and why; nil if that
	// cannot be.
	Lacks func(*profiles.Snapshot) (lacks bool, why string)
	// Late panes take no room before a run has described itself.
	Late bool
	// New makes the pane.
	New func(Host) Pane
}

// NewDeck returns the panes as entries of a layout.
func NewDeck(specs []Spec) *layout.Deck {
	entries := make([]layout.Entry, len(specs))
	for i, s := range specs {
		entries[i] = layout.Entry{Name: s.Name, Shape: s.Shape, Roomy: s.Roomy, Joins: s.Joins}
	}
	return layout.New(entries)
}
