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

// The list of panes, and their interface to the screen.

// Panes are the panes of the screen, in the order of the list of panes.
var Panes = []pane.Spec{
	pane.Phases, imaging.Reconstruction, pane.Caches, pane.Loss, pane.Effects, pane.IterationTime, imaging.KSpace,
	pane.Memory, imaging.Quality, throughput.Pane, throughput.Memory, pane.Units, pane.Log, pane.Settings,
	ablation.Pane, imaging.Phase, imaging.Diffraction, imaging.Slices, imaging.Raw, tasks.Table, tasks.Losses, pane.GPU,
	pane.Progress, pane.Output, pane.Ranks,
}

// Panes opened by their own keys.
const (
	settingsPane = "settings"
	ablationPane = "ablation"
	effectsPane  = "effects"
)

// host is the screen's interface to its panes.
type host struct {
	display     *display
	knobs       *knobs
	reading     *reading
	experiments *experiments
	origins     settings.Origins
}

func (h host) Now() time.Time               { return h.display.now() }
func (h host) Cores() int                   { return h.knobs.cores }
func (h host) Graphics() *terminal.Graphics { return h.display.graphics }
func (h host) Keys() *keys.Table            { return h.knobs.keys.Table }
func (h host) Say(text string)              { h.display.say(text) }

func (h host) Table() *settings.Table         { return h.knobs.table }
func (h host) Tunable() bool                  { return h.knobs.keys.can(profiles.SetCommand) }
func (h host) Wanted() settings.Values        { return h.knobs.wanted() }
func (h host) Asked(key string) string        { return h.knobs.asked(key) }
func (h host) Nudge(key string, up bool)      { h.knobs.nudge(key, up) }
func (h host) Choose(key string)              { h.knobs.list([]string{key}) }
func (h host) Assign(key, value string) error { return h.knobs.assign(key, value) }
func (h host) Check(key, value string)        { h.reading.check(key, value) }
func (h host) Forget()                        { h.reading.forget() }

// Origin returns where a setting's value came from.
func (h host) Origin(key string) string {
	if h.knobs.mine[key] {
		return "a change during the run"
	}
	return h.origins[key]
}

func (h host) AblationRuns() bool { return h.experiments.running() }
func (h host) ToggleAblation()    { h.experiments.toggle() }
