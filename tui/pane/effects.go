package pane

import (
	"cmp"
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// The pane of the effects: two rows for each, the selected one, and what is said of an effect without a number.

// Effects specifies the pane of the effects of setting changes.
var Effects = Spec{
	Name:  "effects",
	Shape: layout.Shape{Width: layout.Extent{Least: 34, Good: 44, Most: 100, Weight: 4}, Height: layout.Extent{Least: 5, Good: 8, Most: 13, Weight: 2}},
	Roomy: layout.Shape{Width: layout.Extent{Least: 34, Good: 100, Most: effectForestFrom + 4, Leap: effectForestFrom + 4 - 100, Weight: 4}, Height: layout.Extent{Least: 5, Good: 12, Most: 18, Weight: 3}},
	New:   func(h Host) Pane { return newEffects(h) },
}

// effects shows the effect of every change of settings, newest first.
type effects struct {
	Box
	widget.List
	host    Host
	ceiling float64 // of the chart around a change
}

func newEffects(h Host) *effects { return &effects{Box: Box{Title: "Effects", Past: true}, host: h} }

// Cells returns the pane as it is on the screen.
func (p *effects) Cells() *chart.Canvas { return p.Render(p.draw) }

// Press selects an effect.
func (p *effects) Press(key string) bool {
	if !p.List.Move(key) {
		return false
	}
	p.Stale = true
	return true
}

// Hints returns the keys that select an effect and those that act on it.
func (p *effects) Hints() []Hint {
	hints := []Hint{{"↑↓", "pick"}}
	for _, h := range []struct {
		action profiles.Action
		text   string
	}{{"replicate", "replicate"}, {"fork", "quality"}} {
		if key := p.host.Keys().Of(h.action); key != "" {
			hints = append(hints, Hint{key, h.text})
		}
	}
	return hints
}

// Picked returns the selected change.
func (p *effects) Picked(s *profiles.Snapshot) *profiles.Effect {
	if at := len(s.Effects) - 1 - p.At; at >= 0 && at < len(s.Effects) {
		return &s.Effects[at]
	}
	return nil
}

// Explain describes how an effect is measured.
func (p *effects) Explain() []string {
	var s profiles.Schema
	if p.Snap != nil {
		s = p.Snap.Run.Schema
	}
	offered, judged, ends := "", "", ""
	if s.Threshold != "" {
		ends = " and the last iteration of a " + s.Unit.One
	}
	if q := s.QualityInfo(); q.Title != "" {
		of := profiles.Ablation{Quality: q}
		judged = strings.Join(explanations.Of("effects, quality", "{quality}", q.Title, "{column}",
			of.QualityTitle()), " ")
	}
	if p.host.Keys().Of("ablate") != "" {
		offered = strings.Join(explanations.Of("effects, offered", "{units}", cmp.Or(s.Unit.Many, "units")), " ")
	}
	return explanations.Of("effects", "{offered}", offered, "{judged}", judged, "{kinds}", words.Kinds(&s), "{ends}",
		ends, "{quiet}", fmt.Sprintf("%.0f %%", 100*machine.Quiet))
}

// draw draws the table if its columns fit, else two rows for each effect.
func (p *effects) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	if len(s.Effects) == 0 {
		p.empty(c, s)
		return "", theme.Faint
	}
	if w >= effectTableWidth && h >= 8 {
		return p.table(c, s)
	}
	p.Aside("iteration time, 95 % interval", theme.Faint)
	each := 2
	if h < 4 {
		each = 1
	}
	first, last := p.Fit(len(s.Effects), max(1, h/each))
	for i := first; i < last; i++ {
		e := &s.Effects[len(s.Effects)-1-i]
		y := (i - first) * each
		x := 0
		if p.Focus {
			x = p.pointer(c, y, i)
		}
		row := c.Sub(x, y, w-x, each)
		p.headline(&row, 0, w-x, s, e)
		if each == 2 {
			text, warn := words.Detail(s, e, w-2)
			style := theme.Faint
			if warn {
				style = theme.Warn
			}
			row.Text(2-x, 1, chart.Cut(text, w-2), style)
		}
	}
	return p.Note("later", "earlier"), theme.Faint
}

// pointer marks the selected row and returns the column after the mark.
func (p *effects) pointer(c *chart.Canvas, y, i int) int {
	if i == p.At {
		c.Set(0, y, '▸', theme.Focus)
	}
	return 2
}

// startsNext says which key begins another run; "" if none does.
func startsNext(h Host) string {
	if h.Keys().Of("restart") == "" {
		return ""
	}
	return h.Keys().Say(" {restart|A restart} starts the next.")
}

func (p *effects) empty(c *chart.Canvas, s *profiles.Snapshot) {
	_, h := c.Size()
	text := "Change a setting"
	if keys := p.host.Keys().Handy(); keys != "" {
		text += " (" + keys + ")"
	}
	text += " and read here what it did to speed and quality."
	switch {
	case !words.Ended(s.State) && !p.host.Tunable():
		text = "No setting was changed yet, and none can be changed from here."
	case words.Ended(s.State):
		text = "No setting was changed in this run."
		if len(s.Changes) > 0 { // of limits
			text = "No change of this run has an effect to measure: only limits, or how effects are measured."
		}
		text += startsNext(p.host)
	}
	if w, _ := c.Size(); h < 3 {
		text = words.FittingOrLast(w, text, "No setting was changed yet.")
	}
	WriteWrapped(c, 0, max(0, (h-3)/2), min(3, h), text, theme.Faint)
}

// headline writes the change and by how much the iteration became longer or shorter.
func (p *effects) headline(c *chart.Canvas, y, w int, s *profiles.Snapshot, e *profiles.Effect) {
	number, style := outcome(s, e)
	interval := ""
	if low, high, ok := words.Interval(e); ok && !words.Undecided(s, e) {
		interval = fmt.Sprintf(" [%s,%s]", unit.Signed(100*low, 0), unit.Signed(100*high, 0))
	}
	if number == "" {
		number, style = chart.Cut(p.incomparableIn(s, e, w), w), theme.Warn
	}
	x := w
	if interval != "" {
		x = c.TextRight(x, y, interval, theme.Faint)
	}
	x = c.TextRight(x, y, number, style)
	c.Text(0, y, chart.Cut(words.ChangedIn(s.Settings.Table(), e, p.host.Cores(), x-1), x-1), theme.Plain)
}

// what formats an effect's change, and the settings that changed with it: "AMP off→bf16".
func (p *effects) what(s *profiles.Snapshot, e *profiles.Effect) string {
	return words.Changed(s.Settings.Table(), e, p.host.Cores())
}

// incomparable returns texts for an effect without a number, longest first: how to get one, or
// why there is none.
func incomparable(h Host, s *profiles.Snapshot, e *profiles.Effect) []string {
	not, full, brief := e.NoResult()
	switch ablationOf(h, s, e) {
	case replicationOffered:
		key := h.Keys().Of("replicate")
		return []string{not + ": press " + key, not + ": " + key, not}
	case ablationOffered:
		key := h.Keys().Of("ablate")
		return []string{not + ": press " + key, not + ": " + key, not}
	case ablationKnows:
		return []string{not + ": see Ablation", not}
	}
	switch {
	case brief == "":
		return []string{not}
	case e.Replica == nil && e.Ended && full == brief: // nothing to add: the run ended
		return []string{brief, "run ended first", not}
	}
	return []string{not + ": " + brief, not}
}

// incomparableIn fits the text of incomparable next to the change in w cells: next to all names
// of several settings where possible, else next to part of them.
func (p *effects) incomparableIn(s *profiles.Snapshot, e *profiles.Effect, w int) string {
	const part = 14
	texts := incomparable(p.host, s, e)
	if len(e.With) > 0 {
		if text := words.Fitting(w-1-chart.Width(words.SettingNames(s.Settings.Table(), e)), texts...); text != "" {
			return text
		}
	}
	return words.FittingOrLast(w-1-min(chart.Width(p.what(s, e)), part), texts...)
}

// ablationHelp classifies what an ablation can contribute to an effect that is not comparable.
type ablationHelp uint8

const (
	ablationCannot     ablationHelp = iota // cannot compare it
	ablationOffered                        // could compare it
	ablationKnows                          // has compared it, or is about to
	replicationOffered                     // a replication of the change itself is offered
)

// ablationOf reports what an ablation can contribute to an effect. An ablation covers only some
// settings, and only in a run that has not ended.
func ablationOf(h Host, s *profiles.Snapshot, e *profiles.Effect) ablationHelp {
	inForce := true
	for _, v := range e.Changes() {
		inForce = inForce && h.Asked(v.Key) == v.After
	}
	if inForce && !words.Ended(s.State) && h.Keys().Of("replicate") != "" && !h.AblationRuns() &&
		h.Asked(settings.Decide) != settings.DecideOff {
		return replicationOffered
	}
	known := s.Ablation != nil && !s.Ablation.Replication
	for _, v := range e.Changes() {
		if k, _ := s.Settings.Lookup(v.Key); len(k.Compared.Pairs) == 0 {
			return ablationCannot
		}
		known = known && (s.Ablation.Running && (s.Ablation.Factorial == nil || s.Ablation.Factorial.Switches(v.Key)) ||
			ablationJudged(s.Ablation, v.Key))
	}
	switch {
	case known:
		return ablationKnows
	case words.Ended(s.State) || h.Keys().Of("ablate") == "" || h.AblationRuns(): // its key would end what runs
		return ablationCannot
	}
	return ablationOffered
}

// ablationJudged reports whether an ablation reached a verdict on a setting.
func ablationJudged(a *profiles.Ablation, key string) bool {
	if f := a.Factorial; f != nil && f.Final && f.Rounds >= f.Needed && f.Switches(key) {
		return true
	}
	for i := range a.Rows {
		if r := &a.Rows[i]; r.Key == key && r.Judge() != profiles.Unjudged && r.Judge() != profiles.SoFar {
			return true
		}
	}
	return false
}

// outcome summarizes an effect as a number or two words; empty if it is not comparable.
func outcome(s *profiles.Snapshot, e *profiles.Effect) (text string, style theme.Style) {
	switch {
	case words.Undecided(s, e):
		return words.Deciding(s, e).Progress(), theme.Key
	case words.Replicated(e):
		style = verdict(e)
		switch e.Replica.Judge() {
		case profiles.SameTime:
			return "equal", style
		case profiles.Undecided:
			return "undecided", style
		}
		return unit.SignedPercent(e.Replica.Effect), style
	case e.Open():
		return words.Needs(e), theme.Faint
	}
	switch e.Verdict() {
	case profiles.Faster, profiles.Slower:
		return unit.SignedPercent(e.Shift), verdict(e)
	case profiles.Equal:
		return "equal", theme.Strong
	case profiles.InNoise:
		return e.Verdict().Name(), theme.Faint
	}
	return "", theme.Plain
}

// verdict is good if the whole interval is faster, bad if it is slower.
func verdict(e *profiles.Effect) theme.Style {
	switch words.Finding(e) {
	case stats.Below:
		return theme.Good
	case stats.Above:
		return theme.Bad
	}
	return theme.Strong
}

// JudgementStyle is good where a setting saves time, bad where it costs time.
func JudgementStyle(r *profiles.AblationRow) theme.Style {
	switch r.Judge() {
	case profiles.Saves:
		return theme.Good
	case profiles.Costs:
		return theme.Bad
	case profiles.Undecided, profiles.SameTime:
		return theme.Strong
	}
	return theme.Faint
}
