package ablation

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
)

// This file draws the table of a factorial ablation: each setting alone and averaged over the
// others, the interactions, and the product of the single speed-ups beside the measured one.

// explainFactorial describes the table of a factorial ablation.
func explainFactorial(f *profiles.Factorial) []string {
	return explanations.Of("factorial", "{tolerance}", fmt.Sprintf("%.0f %%", 100*profiles.FactorialTolerance),
		"{intervals}", strconv.Itoa(f.Intervals), "{needed}", strconv.Itoa(f.Needed))
}

// Bounds of the width of the names in the first column.
const (
	leastNames = 24
	mostNames  = 44
)

// The columns after the names.
const (
	ratioWidth    = 8
	intervalWidth = 15
	leastVerdict  = 18
)

// narrow is the width below which the averaged effects have no intervals.
const narrow = 68

// factorial draws a factorial ablation.
func (p *view) factorial(c *chart.Canvas, a *profiles.Ablation) (string, theme.Style) {
	f := a.Factorial
	w, h := c.Size()
	p.foot(c, a)
	body := c.Sub(0, 0, w, h-1)
	if len(f.Alone) == 0 || !a.Running && f.Rounds == 0 {
		pane.WriteWrapped(&body, 0, 0, h-1, "No round of "+factorNames(f.Factors)+" was completed: "+a.Ended+".",
			theme.Warn)
		return "", theme.Faint
	}
	t := factorialTable{c: &body, f: f, names: namesWidth(f, w)}
	t.settings()
	if room := h - len(f.Factors) - factorialRest; room >= 0 {
		t.interactions(listedInteractions(f, room))
	}
	t.conclusion()
	t.notes()
	t.combinations()
	p.method(&body, t.y, h-1, min(w, 2*pane.ProseWidth))
	return "", theme.Faint
}

// factorialRest is the number of rows other than those of the settings and the interactions: two
// titles, pooled interactions, three of the conclusion with a verdict of two lines, and the foot.
const factorialRest = 9

// listedInteractions returns the interactions to list in at most room rows, and the number of the
// others: all pairs if they fit, and else those beyond noise first; of higher orders only those
// beyond noise.
func listedInteractions(f *profiles.Factorial, room int) (listed []int, pooled int) {
	var beyond []int
	for i := range f.Interactions {
		if i < f.Pairs() || f.Interactions[i].BeyondNoise() {
			listed = append(listed, i)
		}
		if f.Interactions[i].BeyondNoise() {
			beyond = append(beyond, i)
		}
	}
	if len(listed) > room {
		listed = beyond[:min(len(beyond), max(room, 0))]
	}
	return listed, len(f.Interactions) - len(listed)
}

// namesWidth returns the width of the first column of a pane of w cells.
func namesWidth(f *profiles.Factorial, w int) int {
	longest := leastNames
	for i := range f.Pairs() {
		longest = max(longest, chart.Width(f.InteractionName(i))+1)
	}
	for _, factor := range f.Factors {
		longest = max(longest, chart.Width(factor.Name)+1)
	}
	if w < narrow {
		return max(w-2-2*ratioWidth-intervalWidth-2, 8)
	}
	return min(longest, mostNames, w-2-2*ratioWidth-2*intervalWidth-2)
}

// factorialTable is a table being drawn, from row y on.
type factorialTable struct {
	c     *chart.Canvas
	f     *profiles.Factorial
	names int // width of the first column
	y     int
}

// cells writes a ratio and its interval from column x, and returns the next free column.
func (t *factorialTable) cells(x int, r profiles.Ratio, style theme.Style) int {
	interval := "–"
	if r.Known() {
		interval = "[" + unit.Signed(100*r.Low, 1) + "," + unit.Signed(100*r.High, 1) + "]"
	}
	t.effect(x, r, style)
	t.c.Text(x+ratioWidth+1, t.y, chart.Cut(interval, intervalWidth), theme.Faint)
	return x + ratioWidth + intervalWidth + 2
}

// effect writes a ratio from column x.
func (t *factorialTable) effect(x int, r profiles.Ratio, style theme.Style) {
	text := "–"
	if !math.IsNaN(r.Effect) {
		text = unit.SignedPercent(r.Effect)
	}
	t.c.TextRight(x+ratioWidth, t.y, text, style)
}

// beside returns the first column to the right of the table.
func (t *factorialTable) beside() int {
	return 2 + t.names + 2*(ratioWidth+intervalWidth+2) + speedUpWidth
}

// speedUpWidth is the width of the column of speed-ups, in panes with room for it.
const speedUpWidth = 8

// forest draws ratios to the right of the table, beside the rows from y on, if there is room.
func (t *factorialTable) forest(y int, title string, ratios []profiles.Ratio, style func(profiles.Ratio) theme.Style) {
	w, h := t.c.Size()
	x := t.beside() + 2
	if w-x < chart.ForestWidth || y+len(ratios) >= h || len(ratios) == 0 {
		return
	}
	rows := make([]chart.Whisker, len(ratios))
	for i, r := range ratios {
		rows[i] = chart.Whisker{At: r.Effect, Low: r.Low, High: r.High, Bounded: r.Known(), Style: style(r)}
	}
	t.c.Text(x, y-1, chart.Cut(title, w-x), theme.Axis)
	plot := t.c.Sub(x, y, w-x, len(ratios)+1)
	chart.Forest(&plot, rows, 0)
}

// settings writes the effect of each setting.
func (t *factorialTable) settings() {
	w, _ := t.c.Size()
	x := 2 + t.names
	wide := w >= t.beside()
	t.c.Text(2, t.y, "setting", theme.Axis)
	t.c.TextRight(x+ratioWidth, t.y, "alone", theme.Axis)
	t.c.Text(x+ratioWidth+1, t.y, "interval", theme.Axis)
	second := x + ratioWidth + intervalWidth + 2
	t.c.TextRight(second+ratioWidth, t.y, "averaged", theme.Axis)
	if w >= narrow {
		t.c.Text(second+ratioWidth+1, t.y, "interval", theme.Axis)
	}
	if wide {
		t.c.TextRight(t.beside(), t.y, "alone", theme.Axis)
	}
	t.y++
	t.forest(t.y, "time of an iteration, averaged", t.f.Averaged, savings)
	for i, factor := range t.f.Factors {
		t.c.Text(2, t.y, chart.Cut(factor.Name, t.names), theme.Plain)
		next := t.cells(x, t.f.Alone[i], savings(t.f.Alone[i]))
		if averaged := t.f.Averaged[i]; w < narrow {
			t.effect(next, averaged, savings(averaged))
		} else {
			t.cells(next, averaged, savings(averaged))
		}
		if wide {
			t.c.TextRight(t.beside(), t.y, t.f.Alone[i].SpeedUp(), theme.Plain)
		}
		t.y++
	}
}

// interactions writes the listed interactions, and how large the others can be.
func (t *factorialTable) interactions(listed []int, pooled int) {
	w, _ := t.c.Size()
	names := t.names
	for _, i := range listed {
		names = max(names, min(chart.Width(t.f.InteractionName(i))+1, mostNames,
			w-2-ratioWidth-intervalWidth-2-leastVerdict))
	}
	x := 2 + names
	t.c.Text(2, t.y, chart.Cut("interaction", names), theme.Axis)
	t.c.TextRight(x+ratioWidth, t.y, "beyond", theme.Axis)
	t.c.Text(x+ratioWidth+1, t.y, "the product", theme.Axis)
	t.y++
	ratios := make([]profiles.Ratio, len(listed))
	for i, at := range listed {
		ratios[i] = t.f.Interactions[at].Ratio
	}
	t.forest(t.y, "", ratios, surprise) // the axis of the forest above is in its title's row
	for _, i := range listed {
		r := t.f.Interactions[i].Ratio
		t.c.Text(2, t.y, chart.Cut(t.f.InteractionName(i), names), theme.Plain)
		next := t.cells(x, r, surprise(r))
		t.c.Text(next+1, t.y, chart.Cut(t.f.InteractionVerdict(i), min(w, t.beside())-next-1), surprise(r))
		t.y++
	}
	if pooled > 0 {
		t.c.Text(2, t.y, chart.Cut(t.others(listed), min(w, t.beside())-2), theme.Faint)
		t.y++
	} else if len(listed) > 0 && w-t.beside()-2 >= chart.ForestWidth {
		t.y++ // the axis of the forest
	}
}

// others describes the interactions that are not listed.
func (t *factorialTable) others(listed []int) string {
	in := map[int]bool{}
	for _, i := range listed {
		in[i] = true
	}
	n, last, pairs, beyond, reach, known := 0, 0, 0, 0, 0.0, true
	for i, r := range t.f.Interactions {
		if in[i] {
			continue
		}
		n, last = n+1, i
		if i < t.f.Pairs() {
			pairs++
		}
		known = known && r.Known()
		if r.BeyondNoise() {
			beyond++
		} else if r.Known() {
			reach = max(reach, r.Reach())
		}
	}
	text := unit.Plural(n, "other interaction", "other interactions")
	switch {
	case n == 1:
		text = t.f.InteractionName(last)
	case pairs == 0:
		text = unit.Plural(n, "interaction", "interactions") + " of three or more"
	case len(listed) == 0:
		text = unit.Plural(n, "interaction", "interactions")
	}
	switch {
	case !known:
		return text
	case beyond > 0:
		return fmt.Sprintf("%s, %d of them beyond noise: a larger pane lists them", text, beyond)
	}
	return text + ": undecided ± " + unit.Share(reach)
}

// conclusion writes the product of the single speed-ups, the measured one and the verdict.
func (t *factorialTable) conclusion() {
	w, end := t.c.Size()
	x := 2 + t.names
	for _, row := range []struct {
		name  string
		ratio profiles.Ratio
		style func(profiles.Ratio) theme.Style
	}{
		{"everything on: product", t.f.Product, savings}, {"everything on: measured", t.f.Whole, savings},
		{"measured over product", t.f.Excess, surprise},
	} {
		t.c.Text(2, t.y, chart.Cut(row.name, t.names), theme.Plain)
		next := t.cells(x, row.ratio, row.style(row.ratio))
		t.c.TextRight(next+ratioWidth, t.y, row.ratio.SpeedUp(), theme.Plain)
		t.c.Text(next+ratioWidth+1, t.y, chart.Cut(row.ratio.SpeedUps(), intervalWidth), theme.Faint)
		t.y++
	}
	style := theme.Faint
	switch t.f.Multiplies() {
	case profiles.MultipliesWell:
		style = theme.Good
	case profiles.MultipliesNot:
		style = theme.Warn
	case profiles.MultipliesOpen:
		style = theme.Strong
	}
	part := t.c.Sub(0, 0, min(w, max(t.beside(), pane.ProseWidth+2)), end)
	t.y = pane.WriteWrapped(&part, 2, t.y, min(2, end-t.y), t.f.Verdict(), style)
}

// notes writes why settings cannot matter.
func (t *factorialTable) notes() {
	w, end := t.c.Size()
	for i, note := range t.f.Notes {
		if note != "" && t.y < end {
			t.c.Text(2, t.y, chart.Cut(t.f.Factors[i].Name+": "+note, w-2), theme.Faint)
			t.y++
		}
	}
}

// Widths of the parts of a combination: its time, a bar, and the settings that are on.
const (
	combinationTime  = 6
	combinationBar   = 10
	combinationLeast = 56
)

// combinations writes the median time of each combination, in as many columns as fit, if all fit.
func (t *factorialTable) combinations() {
	w, end := t.c.Size()
	n := len(t.f.CombinationNS)
	columns := max(1, (w-2)/combinationLeast)
	rows := (n + columns - 1) / columns
	columns = (n + rows - 1) / rows
	if t.f.Rounds == 0 || t.y+rows+2 > end {
		return
	}
	longest := 0.0
	for _, ns := range t.f.CombinationNS {
		longest = max(longest, ns)
	}
	t.y++
	t.c.Text(2, t.y, "medians of an iteration in ms, and what is on", theme.Axis)
	t.y++
	each := (w - 2) / columns
	for on, ns := range t.f.CombinationNS {
		x, y := 2+on/rows*each, t.y+on%rows
		t.c.TextRight(x+combinationTime, y, strings.TrimSpace(unit.Milliseconds(ns)), theme.Plain)
		t.c.Bar(x+combinationTime+1, y, combinationBar, ns/longest*combinationBar, theme.Faint)
		from := combinationTime + combinationBar + 2
		t.c.Text(x+from, y, chart.Cut(t.f.Combination(on), each-from-1), theme.Plain)
	}
	t.y += rows
}

// savings is good where a ratio saves time, bad where it costs time.
func savings(r profiles.Ratio) theme.Style {
	switch f := r.Judge(0); {
	case f == stats.Below:
		return theme.Good
	case f == stats.Above:
		return theme.Bad
	case r.Known():
		return theme.Strong
	}
	return theme.Faint
}

// surprise marks a ratio beyond noise.
func surprise(r profiles.Ratio) theme.Style {
	if r.BeyondNoise() {
		return theme.Warn
	}
	return theme.Faint
}

// factorNames lists the names of factors.
func factorNames(factors []settings.Factor) string {
	names := make([]string, len(factors))
	for i, f := range factors {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}
