package tui

import "prismtop/profiles"

// This file is what panes need of a workload's schema. A pane that the workload has
// nothing for is in no arrangement.

// paneNeeds say whether a run has what a pane shows; nil where every run has.
var paneNeeds = [numPanes]func(*profiles.RunInfo) bool{
	phasesPane:  func(r *profiles.RunInfo) bool { return len(r.Schema.Phases) > 0 },
	picturePane: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(reconstructionPicture) >= 0 },
	kspacePane:  func(r *profiles.RunInfo) bool { return len(r.Centres) > 0 },
	cachesPane:  func(r *profiles.RunInfo) bool { return len(r.Schema.Caches) > 0 },
	lossPane:    func(r *profiles.RunInfo) bool { return len(r.Schema.Group(profiles.Losses)) > 0 },
	qualityPane: func(r *profiles.RunInfo) bool { return len(r.Schema.Group(profiles.Metrics)) > 0 },
	samplesPane: func(r *profiles.RunInfo) bool { return r.Units > 0 },
}

// lacking are the panes that a run has nothing for; none before it has said what it is.
func lacking(r *profiles.RunInfo) (none paneSet) {
	if r.Schema.Workload == "" {
		return none
	}
	for id, has := range paneNeeds {
		none[id] = has != nil && !has(r)
	}
	return none
}

// choice is what the user chose in the present arrangement, less what the run lacks.
func (m *Model) choice() choice {
	c := m.keep.choice(m.arrangement().name)
	c.without = m.without
	return c
}

// adopt lays the screen out for what a run has, where that changed.
func (m *Model) adopt(r *profiles.RunInfo) {
	if without := lacking(r); without != m.without {
		m.without = without
		m.relay()
	}
}
