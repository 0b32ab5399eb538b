package pane

import (
	"cmp"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// The pane of all settings: its rows, the selected one, and typing a value. settings_draw.go draws it.

// Settings specifies the pane that lists all settings.
var Settings = Spec{
	Name:  "settings",
	Shape: layout.Shape{Width: layout.Extent{Least: 60, Good: 116, Most: 200, Weight: 2}, Height: layout.Extent{Least: 8, Good: 24, Most: 60, Weight: 2}},
	New:   func(h Host) Pane { return newSettingsView(h) },
}

// settingsView lists and changes all settings: first those that change during the run, then
// those that are read at the start of the next run, with the reason.
type settingsView struct {
	Box
	host  Host
	table *settings.Table // the listed table
	rows  []settingsRow
	at    int // the selected row, which has a key
	top   int // first visible row
	input *widget.Input
	fault string // error of the last value
}

// settingsRow is a heading or a setting.
type settingsRow struct {
	heading string        // its text; readAtTheStart for that of the settings that are not live
	key     *settings.Key // nil for a heading
}

func newSettingsView(h Host) *settingsView {
	p := &settingsView{Box: Box{Title: "Settings"}, host: h}
	p.list(h.Table())
	return p
}

// list lists the settings of a table.
func (p *settingsView) list(t *settings.Table) {
	p.table, p.rows, p.at, p.top, p.input, p.fault, p.Stale = t, settingsRows(t), 0, 0, nil, "", true
	p.move(0, 1)
}

// settingsRows returns the live settings, those that affect speed first, followed by the others.
func settingsRows(t *settings.Table) []settingsRow {
	var live, fixed []settingsRow
	keys := t.Keys()
	for i := len(keys) - 1; i >= 0; { // the last group concerns the computation
		first := i
		for first > 0 && keys[first-1].Group == keys[i].Group {
			first--
		}
		group := []settingsRow{{heading: keys[i].Group}}
		for j := first; j <= i; j++ {
			if keys[j].Live {
				group = append(group, settingsRow{key: &keys[j]})
			}
		}
		if len(group) > 1 {
			live = append(live, group...)
		}
		i = first - 1
	}
	for i := range keys {
		if !keys[i].Live {
			fixed = append(fixed, settingsRow{key: &keys[i]})
		}
	}
	if len(fixed) > 0 {
		live = append(live, settingsRow{heading: readAtTheStart})
	}
	return append(live, fixed...)
}

// readAtTheStart is the heading of the settings that take effect at the next run.
const readAtTheStart = "Read at the start"

// text returns a heading as this run has it: what it is able to is known once it began.
func (r *settingsRow) text(h Host) string {
	switch {
	case r.heading != readAtTheStart || !h.Tunable():
		return r.heading
	case h.Keys().Of("restart") == "":
		return "Cannot change in this run"
	}
	return h.Keys().Say("Read at the start: changes wait for the next run, which {restart|a restart} starts")
}

// Cells returns the pane as it is on the screen.
func (p *settingsView) Cells() *chart.Canvas { return p.Render(p.draw) }

// Update lists the settings again if the table changed.
func (p *settingsView) Update(s *profiles.Snapshot) {
	if t := p.host.Table(); t != p.table {
		p.list(t)
	}
	p.Box.Update(s)
}

// SetFocus discards an edit when the focus is lost.
func (p *settingsView) SetFocus(on bool) {
	if !on {
		p.input, p.fault = nil, ""
	}
	p.Box.SetFocus(on)
}

// Press selects, changes and edits settings.
func (p *settingsView) Press(key string) bool {
	p.Stale = true
	switch {
	case len(p.rows) == 0:
		return false
	case p.input != nil:
		return p.write(key)
	}
	p.fault = ""
	k := p.rows[p.at].key
	_, h := p.Canvas.Size()
	if by, ok := widget.Paged(key, h-7, len(p.rows)); ok {
		p.move(p.at+by, cmp.Compare(by, 0))
		return true
	}
	switch key {
	case "left", "right", "space", "enter":
		if !p.host.Tunable() {
			p.host.Say("the settings of this run cannot be changed from here")
			return true
		}
	}
	switch key {
	case "left", "right", "space":
		p.host.Nudge(k.Name, key != "left")
	case "enter":
		switch {
		case k.Type == settings.TypeSwitch:
			p.host.Nudge(k.Name, true)
		case len(k.Allowed) > 0:
			p.host.Choose(k.Name)
		default:
			p.edit()
		}
	default:
		return false
	}
	return true
}

// move selects the first setting at or after row i in the direction of by.
func (p *settingsView) move(i, by int) {
	i = min(max(i, 0), len(p.rows)-1)
	for i >= 0 && i < len(p.rows) && p.rows[i].heading != "" {
		i += by
	}
	if i < 0 || i >= len(p.rows) { // a heading is at the edge
		i, by = min(max(i, 0), len(p.rows)-1), -by
		for i >= 0 && i < len(p.rows) && p.rows[i].heading != "" {
			i += by
		}
	}
	if i >= 0 && i < len(p.rows) {
		p.at = i
	}
}

// Select selects a setting by key.
func (p *settingsView) Select(key string) {
	for i, r := range p.rows {
		if r.heading == "" && r.key.Name == key {
			p.at, p.Stale = i, true
		}
	}
}

// Editing reports whether keys edit a value.
func (p *settingsView) Editing() bool { return p.Focus && p.input != nil }

// Checked takes the result of Host.Check for a value.
func (p *settingsView) Checked(key string, err error) {
	if p.input == nil || p.rows[p.at].key.Name != key {
		return
	}
	p.Stale = true
	if err != nil {
		p.fault = err.Error()
		return
	}
	p.input, p.fault = nil, ""
}

// Selected returns the key of the selected setting.
func (p *settingsView) Selected() string { return p.rows[p.at].key.Name }

// Written returns the value being edited.
func (p *settingsView) Written() string {
	if p.input == nil {
		return ""
	}
	return p.input.Value()
}

// suspended reports whether the requested number belongs to another state of other settings than
// the requested one, such as a threshold to another loss.
func (p *settingsView) suspended(key string) bool {
	_, _, suspended := p.host.Wanted().Suspended(key)
	return suspended
}

// edit starts to edit the selected setting. A suspended number starts empty: it is on another
// scale.
func (p *settingsView) edit() {
	key := p.rows[p.at].key.Name
	text := p.host.Asked(key)
	if p.suspended(key) {
		text = ""
	}
	p.input, p.fault, p.Stale = widget.NewInput(text), "", true
}

// Paste inserts pasted text into the value being edited.
func (p *settingsView) Paste(text string) {
	if p.input == nil || !p.Focus {
		return
	}
	p.Stale = true
	p.input.Paste(text)
}

// write handles a key while a value is being edited: other characters than the value's are refused.
func (p *settingsView) write(key string) bool {
	switch key {
	case "esc":
		p.input, p.fault = nil, ""
		p.host.Forget()
	case "enter":
		p.commit()
	default:
		k := p.rows[p.at].key
		switch {
		case widget.Edits(key) || k.Takes(key):
			p.input.Press(key)
		case !widget.Types(key) && (p.input.Selected() || p.input.Value() == ""): // nothing would be lost
			p.input, p.fault = nil, ""
			return p.Press(key)
		default:
			p.host.Say(key + " is not part of " + k.Name + ", " + k.Wants() + ": enter sets it, esc leaves it")
		}
	}
	return true
}

// commit requests the edited value, or shows what is wrong with it.
func (p *settingsView) commit() {
	key, value := p.rows[p.at].key.Name, strings.TrimSpace(p.input.Value())
	if key == "image" && value != "" && value != p.host.Asked(key) {
		p.host.Check(key, value)
		return
	}
	if err := p.host.Assign(key, value); err != nil {
		p.fault = err.Error()
		return
	}
	p.input, p.fault = nil, ""
}

// Hints returns the pane's keys.
func (p *settingsView) Hints() []Hint {
	if p.input != nil {
		edit := Hint{"← →", "move"}
		if p.input.Selected() {
			edit.Does = "edit"
		}
		return []Hint{{"enter", "sets"}, {"esc", "leaves"}, edit, {"ctrl+u", "clears"}}
	}
	if !p.host.Tunable() {
		return []Hint{{"↑ ↓", "select"}, {",", "close"}}
	}
	return []Hint{{"↑ ↓", "select"}, {"← →", "change"}, {"enter", "value"}, {",", "close"}}
}

// Explain describes the columns.
func (p *settingsView) Explain() []string {
	effect, from := explanations.Of("settings, effect"), explanations.Of("settings, from")
	if !p.host.Tunable() {
		return slices.Concat(explanations.Of("settings, read-only"), effect, from)
	}
	about := explanations.Of("settings")
	if len(p.table.Dependent()) > 0 {
		about = append(about, explanations.Of("settings, threshold")...)
	}
	if p.host.Keys().Of("restart") == "" {
		return slices.Concat(about, effect, from)
	}
	return slices.Concat(about, effect, from, explanations.Of("settings, start"))
}

// effectFor formats an effect, preceded by the value it was measured for if the column has room.
func effectFor(t *settings.Table, key, value, shift string, low, high float64, by string) string {
	of := words.SettingText(t, key, value, 1) + " "
	interval := " [" + unit.Signed(100*low, 0) + "," + unit.Signed(100*high, 0) + "]"
	return words.FittingOrLast(settingHelpX-settingEffectX-1, of+shift+interval+by, of+shift+by, shift+interval+by)
}

// effectOf formats the latest measured effect of a setting that changed by itself, or that of
// the ablation if there is none or it is not comparable.
func (p *settingsView) effectOf(s *profiles.Snapshot, key string) (string, theme.Style) {
	without := ""
	for i := len(s.Effects) - 1; i >= 0 && without == ""; i-- {
		switch e := &s.Effects[i]; {
		case e.Key != key || len(e.With) > 0:
		case words.Replicated(e):
			said, style := outcome(s, e)
			return effectFor(s.Settings.Table(), key, e.After, said, e.Replica.Low, e.Replica.High, ""), style
		case !e.Enough:
		case e.Comparable():
			said, style := outcome(s, e)
			return effectFor(s.Settings.Table(), key, e.After, said, e.Low, e.High, ""), style
		default:
			without = words.FittingOrLast(settingHelpX-settingEffectX-1, incomparable(p.host, s, e)...)
		}
	}
	if s.Ablation != nil {
		for i := range s.Ablation.Rows {
			r := &s.Ablation.Rows[i]
			if r.Key == key && r.Judge() != profiles.Unjudged &&
				(r.On == "true" || r.On == words.SettingsOf(s).Get(key)) {
				return effectFor(s.Settings.Table(), key, r.On, unit.SignedPercent(r.Effect), r.Low, r.High, " A"),
					JudgementStyle(r)
			}
		}
	}
	return without, theme.Warn
}
