package tuitest

import (
	"cmp"
	"time"

	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/tui/keys"
	"prismtop/tui/terminal"
)

// Host is a pane.Host on which every setting can be changed and no change is pending.
type Host struct {
	Values   settings.Values
	Time     func() time.Time
	ReadOnly bool
	Drawing  *terminal.Graphics
}

// Now returns the given clock's time, or a fixed time.
func (h Host) Now() time.Time {
	if h.Time == nil {
		return time.Unix(1e9, 0)
	}
	return h.Time()
}

// Cores returns 2.
func (h Host) Cores() int { return 2 }

// Graphics returns the given graphics, or those of a terminal that draws no pictures.
func (h Host) Graphics() *terminal.Graphics {
	if h.Drawing != nil {
		return h.Drawing
	}
	return terminal.NewGraphics()
}

// Keys returns the default keys of the screen, of settings, of an ablation and of a restart; of a read-only host
// those of the screen alone.
func (h Host) Keys() *keys.Table {
	all, _ := keys.For(cmp.Or(h.Values.Table(), prism.Table), nil)
	return all.Only(func(s keys.Section, r *keys.Row) bool {
		return s == keys.Screen || !h.ReadOnly && (r.Setting != nil || r.Action == "ablate" || r.Action == "restart")
	})
}

// Say ignores the text.
func (h Host) Say(string) {}

// Table returns the table of the values.
func (h Host) Table() *settings.Table { return h.Values.Table() }

// Tunable returns whether the host is not read-only.
func (h Host) Tunable() bool { return !h.ReadOnly }

// Wanted returns the values.
func (h Host) Wanted() settings.Values { return h.Values }

// Asked returns one of the values.
func (h Host) Asked(key string) string { return h.Values.Get(key) }

// Origin returns no origin.
func (h Host) Origin(string) string { return "" }

// Nudge does nothing.
func (h Host) Nudge(string, bool) {}

// Choose does nothing.
func (h Host) Choose(string) {}

// Assign does nothing.
func (h Host) Assign(string, string) error { return nil }

// Check does nothing.
func (h Host) Check(string, string) {}

// Forget does nothing.
func (h Host) Forget() {}

// AblationRuns returns false.
func (h Host) AblationRuns() bool { return false }

// ToggleAblation does nothing.
func (h Host) ToggleAblation() {}
