package screen

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/keys"
)

// This file connects the keys of tui/keys with what this screen and the run are able to do.

// bindings are the keys of the run on screen, used for dispatch, footer, help and sentences.
type bindings struct {
	*keys.Table
	can   profiles.Kinds
	all   *keys.Table // without regard to what the source carries out
	picks []string    // settings in the value list
}

// ownSections are the sections of this screen, in the order in which a key is looked up and the help lists them.
var ownSections = []keys.Section{keys.Settings, keys.Run, keys.Replay, keys.Tuning, keys.Screen}

// bindingsOf returns the keys for a table of settings and the commands that its source carries out, as the user chose
// them. Settings that are not in the table have no keys. A choice that cannot be obeyed for these settings leaves the
// default.
func bindingsOf(t *settings.Table, can profiles.Kinds, own *keys.Own) *bindings {
	all, _ := keys.For(t, own)
	b := &bindings{can: can, all: all, Table: all.Only(func(_ keys.Section, r *keys.Row) bool {
		return can.Has(needs(r)...)
	})}
	if can.Has(profiles.SetCommand) {
		b.picks = keys.Listed(t)
	}
	return b
}

// needs returns the commands that an action asks for.
func needs(r *keys.Row) profiles.Kinds {
	switch {
	case r.Action == "settings":
		return profiles.Kinds{readCommand}
	case r.Command == "":
		return nil
	}
	return profiles.Kinds{r.Command}
}

// run carries out an action: by its function, or by the one command that it asks for.
func (m *Model) run(r *keys.Row) tea.Cmd {
	if r.Setting != nil {
		m.move(r.Setting, r.Move)
		return nil
	}
	if deed := deeds[r.Action]; deed != nil {
		return deed(m)
	}
	return m.later(profiles.Command{Kind: r.Command})
}

// forPane returns a pressed key as the focused pane knows it. While a value is typed, keys are characters.
func (m *Model) forPane(pressed string) string {
	if m.editing() {
		return pressed
	}
	return m.keys.InPane(pressed)
}

// closes reports whether a pressed key closes a list.
func (m *Model) closes(pressed string) bool {
	return pressed == "esc" || pressed == m.keys.Of("quit") || pressed == m.keys.Of("help")
}

// isDigit reports whether a key names a bookmark.
func isDigit(key string) bool { return len(key) == 1 && key[0] >= '1' && key[0] <= '9' }

// inFooter returns the value of the setting that a row changes, and whether it is not in force yet: a lamp for a switch,
// otherwise text of a fixed width, so that nothing moves.
func (m *Model) inFooter(r *keys.Row) (shown string, pending bool) {
	value, pending := m.value(r.Setting.Name)
	switch {
	case r.Setting.Type == settings.TypeSwitch && value == "true":
		return "●", pending
	case r.Setting.Type == settings.TypeSwitch:
		return "○", pending
	}
	value = m.textOf(r.Setting.Name, value)
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
