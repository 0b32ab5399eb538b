package tui

import (
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/terminal"
)

// fakeHost is a screen on which every setting can be changed and nothing was asked for.
type fakeHost struct {
	Values   settings.Values
	Time     func() time.Time
	ReadOnly bool
	Drawing  *terminal.Graphics
}

func (h fakeHost) Now() time.Time {
	if h.Time == nil {
		return time.Unix(1e9, 0)
	}
	return h.Time()
}
func (h fakeHost) Cores() int { return 2 }
func (h fakeHost) Graphics() *terminal.Graphics {
	if h.Drawing != nil {
		return h.Drawing
	}
	return terminal.NewGraphics()
}
func (h fakeHost) KeyOf(a profiles.Action) string {
	if h.ReadOnly {
		return ""
	}
	return map[profiles.Action]string{"ablate": "A", "restart": "R"}[a]
}
func (h fakeHost) Say(string)                  {}
func (h fakeHost) Table() *settings.Table      { return h.Values.Table() }
func (h fakeHost) Tunable() bool               { return !h.ReadOnly }
func (h fakeHost) Wanted() settings.Values     { return h.Values }
func (h fakeHost) Asked(key string) string     { return h.Values.Get(key) }
func (h fakeHost) Origin(string) string        { return "" }
func (h fakeHost) Nudge(string, bool)          {}
func (h fakeHost) Choose(string)               {}
func (h fakeHost) Assign(string, string) error { return nil }
func (h fakeHost) Check(string, string)        {}
func (h fakeHost) Forget()                     {}
func (h fakeHost) AblationRuns() bool          { return false }
func (h fakeHost) ToggleAblation()             {}
