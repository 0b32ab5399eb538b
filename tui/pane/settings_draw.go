package pane

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// How the settings are drawn: rows, values, and what is said of the selected setting.

// Columns of the settings.
const (
	settingNameX     = 2
	settingValueX    = 23
	settingWishX     = 34
	settingKeyX      = 46
	settingEffectX   = 50
	settingHelpX     = 74
	settingHelpLeast = 16
	settingDetails   = 4 // rows below the list for the selected setting
)

// draw lists the rows, with the selected one visible and described below.
func (p *settingsView) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	details := 0
	if h >= settingDetails+5 {
		details = settingDetails
	}
	room := h - details - 1
	switch {
	case room < 1:
		Message(c, "too small")
		return "", theme.Faint
	case len(p.rows) == 0:
		Message(c, "this run has no settings")
		return "", theme.Faint
	}
	p.scroll(room)
	p.headings(c, w)
	for y := range min(room, len(p.rows)-p.top) {
		p.row(c, y+1, w, p.top+y, s)
	}
	if details > 0 {
		p.details(c, h-details, w, s)
	}
	below := len(p.rows) - p.top - room
	switch {
	case p.input != nil && p.fault == "" && details == 0:
		if p.input.Selected() {
			return p.prompt(), theme.Selected
		}
		return p.prompt(), theme.Strong
	case p.fault != "" && details == 0:
		return p.fault, theme.Bad
	case below > 0:
		return fmt.Sprintf("%d more below", below), theme.Faint
	}
	return "", theme.Faint
}

// scroll keeps the selected row visible, and the heading above it.
func (p *settingsView) scroll(room int) {
	if p.at < p.top+1 {
		p.top = max(p.at-1, 0)
	}
	if p.at >= p.top+room {
		p.top = p.at - room + 1
	}
	p.top = max(min(p.top, len(p.rows)-room), 0)
}

func (p *settingsView) headings(c *chart.Canvas, w int) {
	for _, column := range []struct {
		x    int
		name string
	}{
		{settingNameX, "setting"}, {settingValueX, "value"}, {settingWishX, "asked for"}, {settingKeyX, "key"},
		{settingEffectX, "effect"}, {settingHelpX, "what it is"},
	} {
		if column.x == settingHelpX && w-column.x < settingHelpLeast {
			continue
		}
		c.Text(column.x, 0, chart.Cut(column.name, max(w-column.x, 0)), theme.Axis)
	}
}

func (p *settingsView) row(c *chart.Canvas, y, w, i int, s *profiles.Snapshot) {
	r := p.rows[i]
	if r.heading != "" {
		c.Text(0, y, chart.Cut(r.text(p.host), w), theme.Title)
		return
	}
	k := r.key
	name, value := theme.Plain, theme.Strong
	if !k.Live {
		name, value = theme.Faint, theme.Faint
	}
	if i == p.at {
		c.Set(0, y, '▸', theme.Key)
		name = theme.Strong
	}
	cell(c, settingNameX, y, settingValueX-settingNameX-1, k.Name, name)
	now := words.SettingsOf(s).Get(k.Name)
	if _, _, suspended := words.SettingsOf(s).Suspended(k.Name); suspended {
		now, _ = settings.Unbound(now)
		value = theme.Faint
		cell(c, settingWishX, y, settingKeyX-settingWishX-1, "suspended", theme.Warn)
	}
	cell(c, settingValueX, y, settingWishX-settingValueX-1, p.text(k, now), value)
	if wish := p.host.Asked(k.Name); wish != words.SettingsOf(s).Get(k.Name) {
		cell(c, settingWishX, y, settingKeyX-settingWishX-1, "→ "+p.text(k, wish), theme.Pending)
	}
	if p.host.Tunable() {
		cell(c, settingKeyX, y, settingEffectX-settingKeyX-1, p.host.Keys().Changes(k.Name), theme.Key)
	}
	onCPU := ""
	if k.Name == settings.Device {
		onCPU = words.OnCPU(s)
	}
	if k.Live {
		effect, style := p.effectOf(s, k.Name)
		if effect == "" && onCPU != "" {
			cell(c, settingEffectX, y, w-settingEffectX, onCPU, theme.Faint)
			return
		}
		cell(c, settingEffectX, y, settingHelpX-settingEffectX-1, effect, style)
		if w-settingHelpX >= settingHelpLeast {
			brief, _, _ := strings.Cut(k.Help, ";") // the full text is below the list
			cell(c, settingHelpX, y, w-settingHelpX, words.FittingOrLast(w-settingHelpX, k.Help, brief), theme.Faint)
		}
		return
	}
	cell(c, settingEffectX, y, w-settingEffectX, cmp.Or(onCPU, k.Help), theme.Faint)
}

// cell writes text into width cells, shortened if it is longer.
func cell(c *chart.Canvas, x, y, width int, text string, style theme.Style) {
	if width > 0 {
		c.Text(x, y, chart.Cut(text, width), style)
	}
}

// text formats a value for display.
func (p *settingsView) text(k *settings.Key, value string) string {
	if value == "" && k.Empty == "" {
		return "–"
	}
	return words.SettingText(p.table, k.Name, value, p.host.Cores())
}

// details describes the selected setting beyond what its row shows.
func (p *settingsView) details(c *chart.Canvas, y, w int, s *profiles.Snapshot) {
	k := p.rows[p.at].key
	c.Fill(0, y, w, 1, '─', theme.Border)
	help := k.Help
	if k.Unit != "" {
		help += " (" + k.Unit + ")"
	}
	cell(c, 0, y+1, w, help, theme.Plain)
	about, style := p.about(k, s), theme.Faint
	if p.fault != "" {
		about, style = p.fault, theme.Bad
	}
	cell(c, 0, y+2, w, about, style)
	switch {
	case p.input != nil:
		x := c.Text(0, y+3, chart.Cut(k.Name+" = ", w), theme.Strong)
		x = p.input.Draw(c, x, y+3, w-x)
		what := "enter sets it, esc leaves it"
		if p.input.Selected() {
			what = "typing replaces it, ← → edit it, " + what
		}
		cell(c, x+3, y+3, w-x-3, what, theme.Faint)
	default:
		verb := "writes a value"
		switch {
		case k.Type == settings.TypeSwitch:
			verb = "switches"
		case len(k.Allowed) > 0:
			verb = "lists the values"
		}
		text := profiles.Advice("← → change · enter " + verb + " · {undo|undo} undoes · {settings|esc} closes")
		if k.Type == settings.TypeList || k.Type == settings.TypeText && len(k.Allowed) == 0 {
			text = profiles.Advice("enter " + verb + " · {undo|undo} undoes · {settings|esc} closes")
		}
		if !k.Live && p.host.Keys().Of("restart") != "" {
			text += " · {restart|a restart} restarts"
		}
		if !p.host.Tunable() {
			text = "cannot be changed from here · {settings|esc} closes"
		}
		cell(c, 0, y+3, w, p.host.Keys().Say(text), theme.Faint)
	}
}

// about describes a setting's valid values, the origin of its value, and when a pending value
// takes effect.
func (p *settingsView) about(k *settings.Key, s *profiles.Snapshot) string {
	wants := "must be " + k.Wants()
	wish := p.host.Asked(k.Name)
	text := Suspended(k.Name, s)
	switch {
	case text != "":
		if p.host.Tunable() {
			text += " · enter sets one for it"
		}
		return text
	case wish != words.SettingsOf(s).Get(k.Name) && (words.Ended(s.State) || !k.Live):
		starts := ""
		if key := p.host.Keys().Of("restart"); key != "" {
			starts = " (" + key + ")"
		}
		return fmt.Sprintf("next run: %s %s%s · %s", k.Name, p.text(k, wish), starts, wants)
	case k.Name == settings.Device && words.OnCPU(s) != "":
		wants = "auto is the CPU: " + words.OnCPU(s) + " · " + wants
	}
	text = wants + " · from " + p.origin(k, s)
	if !k.Live {
		text += " · " + k.Fixed
	}
	return text
}

// Suspended describes why a threshold is not in force and the losses that another may be chosen from, "" for any
// other setting.
func Suspended(key string, s *profiles.Snapshot) string {
	given, now, suspended := words.SettingsOf(s).Suspended(key)
	if !suspended {
		return ""
	}
	given, now = words.LossNames(given, now)
	return fmt.Sprintf("suspended: was for %s; %s is %s now", given, now, newestLosses(s))
}

// newestLosses formats the losses of the latest iteration.
func newestLosses(s *profiles.Snapshot) string {
	var texts []string
	for _, l := range words.CurrentLosses(s) {
		texts = append(texts, fmt.Sprintf("%s %.1e", l.Title, l.Latest))
	}
	if !s.InUnits() || s.Index == 0 || len(texts) == 0 || lossJustChanged(s) {
		return "not known yet"
	}
	return strings.Join(texts, ", ")
}

// lossJustChanged reports whether no iteration has run since the loss changed, so that the
// latest losses belong to the previous one.
func lossJustChanged(s *profiles.Snapshot) bool {
	return slices.ContainsFunc(s.Changes, func(c profiles.Change) bool {
		return c.Iteration >= s.Index && slices.Contains(s.Settings.Table().Roles().Objective, c.Key)
	})
}

// prompt returns the value being edited as one text, for the frame of a small pane.
func (p *settingsView) prompt() string {
	text := p.rows[p.at].key.Name + " = " + p.input.Value()
	if p.input.Selected() || !p.input.AtEnd() {
		return text
	}
	return text + "_"
}

// origin describes the source of a setting's value.
func (p *settingsView) origin(k *settings.Key, s *profiles.Snapshot) string {
	for i := len(s.Changes) - 1; i >= 0; i-- {
		if c := s.Changes[i]; c.Key == k.Name {
			return "a change at iteration " + strconv.FormatInt(c.Iteration, 10)
		}
	}
	if from := p.host.Origin(k.Name); from != "" {
		return from
	}
	return "the run's start"
}
