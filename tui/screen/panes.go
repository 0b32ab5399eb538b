package screen

import (
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/pane/ablation"
	"prismtop/tui/pane/imaging"
	"prismtop/tui/pane/tasks"
	"prismtop/tui/pane/throughput"
	"prismtop/tui/terminal"
)

// Panes are the panes of the screen, in the order of the list of panes.
var Panes = []pane.Spec{
	pane.Phases, imaging.Reconstruction, pane.Caches, pane.Loss, pane.Effects, pane.IterationTime, imaging.KSpace, pane.Memory, imaging.Quality, throughput.Pane, throughput.Memory, pane.Units, pane.Log, pane.Settings, ablation.Pane, imaging.Phase, imaging.Diffraction,
	imaging.Slices, imaging.Raw, tasks.Table, tasks.Losses, pane.GPU, pane.Progress,
}

// Panes opened by their own keys.
const (
	settingsPane = "settings"
	ablationPane = "ablation"
	effectsPane  = "effects"
)

// lacking returns the panes that do not apply to a run, or have nothing to show of it; only late ones before the run has
// described itself.
func (m *Model) lacking(snap *profiles.Snapshot) (lacks layout.Set) {
	r := &snap.Run
	for id, s := range m.specs {
		if s.Lacks != nil {
			if lacks[id], _ = s.Lacks(snap); lacks[id] {
				continue
			}
		}
		if r.Schema.Workload == "" {
			lacks[id] = s.Late
			continue
		}
		lacks[id] = s.Needs != nil && !s.Needs(r)
	}
	return lacks
}

// whyLacking says why a pane has nothing to show.
func (m *Model) whyLacking(id layout.Pane) string {
	if s := &m.specs[id]; s.Lacks != nil && m.snap != nil {
		if lacks, why := s.Lacks(m.snap); lacks && why != "" {
			return why
		}
	}
	return "not in this run"
}

// paneName returns a pane's name in this run.
func (m *Model) paneName(id layout.Pane) string {
	if s := &m.specs[id]; s.Called != nil && m.snap != nil {
		if name := s.Called(&m.snap.Run); name != "" {
			return name
		}
	}
	return m.specs[id].Name
}

// choice returns the user's choice in the current arrangement, with the panes that do not apply
// to the run.
func (m *Model) choice() layout.Choice {
	c := m.keep.choice(m.deck, m.arrangement().Name)
	c.Without, c.Replays = m.without, m.can(canPlay)
	return c
}

// adopt updates the layout if the panes that apply to the run have changed.
func (m *Model) adopt(s *profiles.Snapshot) {
	if without := m.lacking(s); without != m.without {
		m.without, m.own = without, ownArrangement(&s.Run.Schema)
		m.relay()
	}
}

// editor returns the pane that edits settings, nil if there is none.
func (m *Model) editor() (pane.Editor, layout.Pane) {
	for id, p := range m.panes {
		if e, ok := p.(pane.Editor); ok {
			return e, layout.Pane(id)
		}
	}
	return nil, layout.None
}

// settingsChanged redraws the settings pane.
func (m *Model) settingsChanged() {
	if _, id := m.editor(); id != layout.None {
		m.panes[id].Redraw()
	}
}

// host is the screen's interface to its panes.
type host struct{ m *Model }

func (h host) Now() time.Time                 { return h.m.now() }
func (h host) Cores() int                     { return h.m.options.Cores }
func (h host) Graphics() *terminal.Graphics   { return h.m.graphics }
func (h host) KeyOf(a profiles.Action) string { return h.m.keys.keyOf(a) }
func (h host) Say(text string)                { h.m.say(text) }

func (h host) Table() *settings.Table         { return h.m.keys.table }
func (h host) Tunable() bool                  { return h.m.can(canSet) }
func (h host) Wanted() settings.Values        { return h.m.wanted() }
func (h host) Asked(key string) string        { return h.m.asked(key) }
func (h host) Nudge(key string, up bool)      { h.m.nudge(key, up) }
func (h host) Choose(key string)              { h.m.openPicker([]string{key}) }
func (h host) Assign(key, value string) error { return h.m.assign(key, value) }
func (h host) Check(key, value string)        { h.m.check(settings.Assignment{Key: key, Value: value}) }
func (h host) Forget()                        { h.m.reading = "" }

// Origin returns where a setting's value came from.
func (h host) Origin(key string) string {
	if h.m.mine[key] {
		return "a change during the run"
	}
	return h.m.options.Origins[key]
}

func (h host) AblationRuns() bool { return h.m.ablationRuns() }
func (h host) ToggleAblation()    { h.m.toggleAblation() }
