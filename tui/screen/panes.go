package screen

import (
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/keys"
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
	imaging.Slices, imaging.Raw, tasks.Table, tasks.Losses, pane.GPU, pane.Progress, pane.Output,
}

// Panes opened by their own keys.
const (
	settingsPane = "settings"
	ablationPane = "ablation"
	effectsPane  = "effects"
)

// host is the screen's interface to its panes.
type host struct{ m *Model }

func (h host) Now() time.Time               { return h.m.now() }
func (h host) Cores() int                   { return h.m.options.Cores }
func (h host) Graphics() *terminal.Graphics { return h.m.graphics }
func (h host) Keys() *keys.Table            { return h.m.keys.Table }
func (h host) Say(text string)              { h.m.say(text) }

func (h host) Table() *settings.Table         { return h.m.table }
func (h host) Tunable() bool                  { return h.m.can(profiles.SetCommand) }
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
