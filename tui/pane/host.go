package pane

import (
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/terminal"
)

// Host is what a pane may ask of the screen that it is on.
type Host interface {
	// Now is the screen's clock.
	Now() time.Time
	// Cores is the number of threads that a setting of 0 means.
	Cores() int
	// Graphics is what the terminal can do with pictures.
	Graphics() *terminal.Graphics
	// KeyOf is the key of an action, empty where this run has none.
	KeyOf(action profiles.Action) string
	// Say answers a key in the footer.
	Say(text string)
	Tuning
	Ablating
}

// Tuning is what a pane may ask about the run's settings, and for them.
type Tuning interface {
	// Table is what settings the run has.
	Table() *settings.Table
	// Tunable says whether settings can be changed from here.
	Tunable() bool
	// Wanted is all settings as asked for, in force or not; Asked is one of them.
	Wanted() settings.Values
	Asked(key string) string
	// Origin is where a setting's value came from, where this screen or its start know that.
	Origin(key string) string
	// Nudge changes a setting by a step, Choose lists its values to choose one of.
	Nudge(key string, up bool)
	Choose(key string)
	// Assign asks for a value, and says what is wrong with it.
	Assign(key, value string) error
	// Check has a value judged that must be read first, which takes a while; the editor is told
	// what became of it, unless Forget comes first.
	Check(key, value string)
	Forget()
}

// Ablating is what a pane may ask about an ablation, and for it.
type Ablating interface {
	// AblationRuns says whether an ablation is under way, or asked for.
	AblationRuns() bool
	// ToggleAblation starts an ablation, or stops it.
	ToggleAblation()
}
