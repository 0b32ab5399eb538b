// Package pane is the parts of the screen: what a pane is, what it may ask of the screen that it is
// on, what panes share, and the panes that a run of any workload has.
package pane

import (
	"prismtop/profiles"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
)

// Pane is a part of the screen. Panes are plain structs: the screen sets their
// size and hands them snapshots, and asks for what they look like. A pane draws
// only after something changed. Every pane embeds a Box, which has all but Lines.
type Pane interface {
	SetSize(w, h int)
	SetTheme(t *theme.Theme)
	// SetCorner gives what the screen says in the lower edge of its last pane.
	SetCorner(text string)
	Update(s *profiles.Snapshot)
	// SetFocus tells whether the pane has the keys.
	SetFocus(on bool)
	// Press handles a key while the pane has the focus; false leaves it to the
	// screen. The keys of a pane are arrows, pgup, pgdown, home and end, v for
	// its next view and x for its next scale or colours.
	Press(key string) bool
	// Explain says what the pane's words mean and how its numbers are measured, a
	// paragraph each.
	Explain() []string
	// Hints are the pane's own keys and what each does there, for the footer.
	Hints() []Hint
	// Redraw draws the pane anew the next time, though it shows the same.
	Redraw()
	// Lines is the pane as h lines of w cells.
	Lines() []string
}

// EffectPicker is a pane in which a change can be picked.
type EffectPicker interface {
	// Picked is the picked change; nil for none.
	Picked(s *profiles.Snapshot) *profiles.Effect
}

// Teller is a pane that says what a key did, once.
type Teller interface{ Tell() string }

// Pictured is a pane that draws pictures, which cost more bytes than all else.
type Pictured interface {
	// SetBudget says how many bytes per second pictures may cost, 0 for no bound, and whether
	// to draw them the cheapest way.
	SetBudget(bytesPerSecond int, cheapest bool)
}

// Editor is a pane in which the values of settings are written.
type Editor interface {
	// Edit selects a setting and begins to write its value.
	Edit(key string)
	// Editing says whether the keys write a value.
	Editing() bool
	// Paste adds what the terminal pasted to a value that is being written.
	Paste(text string)
	// Checked says what became of a value that Host.Check was to judge.
	Checked(key string, err error)
}

// Hint is a key of a pane and what it does, in a word or two.
type Hint struct{ Key, Does string }

// Spec is all that the screen knows of a pane before there is one. A pane is registered by its
// Spec in the list of panes that a screen is made of, and nowhere else.
type Spec struct {
	// Name is the pane's name in lists, in arrangements and in what is remembered.
	Name string
	// Called is the name in a run where that differs; nil where it never does.
	Called func(*profiles.RunInfo) string
	// Shape is what the pane wants of the screen, Roomy what it wants where an arrangement gives
	// it room for all that it can show.
	Shape, Roomy layout.Shape
	// Joins are the arrangements that the pane is part of though their plans do not name it.
	Joins []string
	// Needs says whether a run has what the pane shows; nil where every run has.
	Needs func(*profiles.RunInfo) bool
	// New makes the pane.
	New func(Host) Pane
}

// NewDeck is what a layout knows of panes.
func NewDeck(specs []Spec) *layout.Deck {
	entries := make([]layout.Entry, len(specs))
	for i, s := range specs {
		entries[i] = layout.Entry{Name: s.Name, Shape: s.Shape, Roomy: s.Roomy, Joins: s.Joins}
	}
	return layout.New(entries)
}
