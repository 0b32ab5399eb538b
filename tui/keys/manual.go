package keys

// This file lists keys for the manuals.

// Listing is a titled section of a manual.
type Listing struct {
	Title string
	Rows  []Row
}

// Manual returns the keys of all screens.
func (t *Table) Manual() []Listing {
	var all []Listing
	for _, part := range []struct {
		title string
		of    Section
	}{
		{"", Settings}, {"", Run}, {"", Tuning}, {"A replay, whose other keys are those of the screen", Replay},
		{"", Screen}, {"The table of runs: the selected run", RunsOne},
		{"The table of runs: marked runs, or the selected one", RunsMarked}, {"The table of runs: the rows", RunsRows},
		{"The list of sessions: the selected session", Sessions}, {"", Sweep}, {"", Comparison},
		{"The table of runs, a sweep and the comparison alike", Page},
	} {
		if part.title == "" {
			part.title = part.of.Title()
		}
		if len(t.rows[part.of]) > 0 {
			all = append(all, Listing{part.title, t.rows[part.of]})
		}
	}
	return all
}
