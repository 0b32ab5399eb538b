package tui

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

// KeySections are the screen's keys for the manuals, from the table that the
// screen itself obeys.
func KeySections() []KeySection {
	var sections []KeySection
	for _, t := range keyTables() {
		s := KeySection{Title: t.title}
		for _, b := range t.keys {
			s.Keys = append(s.Keys, ManualKey{b.Keys(), b.Help().Desc})
		}
		sections = append(sections, s)
	}
	return sections
}
