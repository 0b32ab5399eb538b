package tui

import "prismtop/profiles/settings"

// KeySection is a part of the manual's keys.
type KeySection struct {
	Title string
	Keys  []ManualKey
}

// ManualKey is what one or more keys do.
type ManualKey struct {
	Keys []string // as a terminal names them, "ctrl+l"
	Does string
}

// KeySections are the screen's keys for the manuals where a run has the settings of a table,
// from the bindings that the screen itself obeys.
func KeySections(of *settings.Table) []KeySection {
	var sections []KeySection
	for _, t := range bindingsOf(of, allAbilities).tables() {
		s := KeySection{Title: t.title}
		for _, b := range t.keys {
			s.Keys = append(s.Keys, ManualKey{b.Keys(), b.Help().Desc})
		}
		sections = append(sections, s)
	}
	return sections
}
