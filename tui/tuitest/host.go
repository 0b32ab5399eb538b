package tuitest

import (
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/terminal"
)

// Host is a pane.Host: a screen on which every setting can be changed and nothing was asked
// for.
type Host struct {
	Values   settings.Values
	Time     func() time.Time
	ReadOnly bool
	Drawing  *terminal.Graphics
}

// Now is the clock that it was given, or stands still.
func (h Host) Now() time.Time {
	if h.Time == nil {
		return time.Unix(1e9, 0)
	}
	return h.Time()
}

// Cores is 2.
func (h Host) Cores() int { return 2 }

// Graphics is what it was given, or that of a terminal that draws no pictures.
func (h Host) Graphics() *terminal.Graphics {
	if h.Drawing != nil {
		return h.Drawing
	}
	return terminal.NewGraphics()
}

// KeyOf knows the keys of an ablation and of a restart.
func (h Host) KeyOf(a profiles.Action) string {
	if h.ReadOnly {
		return ""
	}
	return map[profiles.Action]string{"ablate": "A", "restart": "R"}[a]
}

// Say is not listened to.
func (h Host) Say(string) {}

// Table is that of the values.
func (h Host) Table() *settings.Table { return h.Values.Table() }

// Tunable is what ReadOnly denies.
func (h Host) Tunable() bool { return !h.ReadOnly }

// Wanted is the values.
func (h Host) Wanted() settings.Values { return h.Values }

// Asked is one of the values.
func (h Host) Asked(key string) string { return h.Values.Get(key) }

// Origin knows none.
func (h Host) Origin(string) string { return "" }

// Nudge changes nothing.
func (h Host) Nudge(string, bool) {}

// Choose lists nothing.
func (h Host) Choose(string) {}

// Assign changes nothing.
func (h Host) Assign(string, string) error { return nil }

// Check judges nothing.
func (h Host) Check(string, string) {}

// Forget has nothing to forget.
func (h Host) Forget() {}

// AblationRuns says no.
func (h Host) AblationRuns() bool { return false }

// ToggleAblation starts nothing.
func (h Host) ToggleAblation() {}
