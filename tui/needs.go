package tui

import (
	"prismtop/profiles"
	"prismtop/tui/layout"
)

// This file is what panes need of a workload's schema. A pane that the workload has
// nothing for is in no arrangement.

// paneNeeds say whether a run has what a pane shows; nil where every run has.
var paneNeeds = [layout.NumPanes]func(*profiles.RunInfo) bool{
	layout.Phases:  func(r *profiles.RunInfo) bool { return len(r.Schema.Phases) > 0 },
	layout.Picture: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(reconstructionPicture) >= 0 },
	layout.KSpace:  func(r *profiles.RunInfo) bool { return len(r.Centres) > 0 },
	layout.Caches:  func(r *profiles.RunInfo) bool { return len(r.Schema.Caches) > 0 },
	layout.Loss:    func(r *profiles.RunInfo) bool { return len(r.Schema.Group(profiles.Losses)) > 0 },
	layout.Quality: func(r *profiles.RunInfo) bool { return len(r.Schema.Group(profiles.Metrics)) > 0 },
	layout.Samples: func(r *profiles.RunInfo) bool { return r.Units > 0 },
}

// lacking are the panes that a run has nothing for; none before it has said what it is.
func lacking(r *profiles.RunInfo) (none layout.Set) {
	if r.Schema.Workload == "" {
		return none
	}
	for id, has := range paneNeeds {
		none[id] = has != nil && !has(r)
	}
	return none
}

// choice is what the user chose in the present arrangement, less what the run lacks.
func (m *Model) choice() layout.Choice {
	c := m.keep.choice(m.arrangement().Name)
	c.Without = m.without
	return c
}

// adopt lays the screen out for what a run has, where that changed.
func (m *Model) adopt(r *profiles.RunInfo) {
	if without := lacking(r); without != m.without {
		m.without = without
		m.relay()
	}
}
