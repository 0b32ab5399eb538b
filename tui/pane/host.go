package pane

import (
	"time"

	"prismtop/profiles/settings"
	"prismtop/tui/keys"
	"prismtop/tui/terminal"
)

// The interfaces of a pane to its screen: Host, with the settings (Tuning) and ablations (Ablating).

// Host is the interface of a pane to its screen.
type Host interface {
	// Now returns the screen's clock.
	Now() time.Time
	// Cores returns the number of threads that a setting of 0 selects.
	Cores() int
	// Graphics returns the terminal's picture capabilities.
	Graphics() *terminal.Graphics
	// Keys returns the keys of the actions that the run has.
	Keys() *keys.Table
	// Say shows a reply to a key in the footer.
	Say(text string)
	Tuning
	Ablating
}

// Tuning reads and changes the run's settings.
type Tuning interface {
	// Table returns the settings table of the run.
	Table() *settings.Table
	// Tunable reports whether settings can be changed from this screen.
	Tunable() bool
	// Wanted returns all requested settings, whether in force or not; Asked returns one.
	Wanted() settings.Values
	Asked(key string) string
	// Origin returns the source of a setting's value, if the screen or its start options know
	// it.
	Origin(key string) string
	// Nudge changes a setting by one step; Choose opens a list of its values.
	Nudge(key string, up bool)
	Choose(key string)
	// Assign requests a value, and returns an error if it is not valid.
	Assign(key, value string) error
	// Check validates a value that has to be read first, which takes a while. The editor
	// receives the result unless Forget is called before.
	Check(key, value string)
	Forget()
}

// Ablating queries and controls an ablation.
type Ablating interface {
	// AblationRuns reports whether an ablation is running or requested.
	AblationRuns() bool
	// ToggleAblation starts an ablation, or stops the running one.
	ToggleAblation()
}
