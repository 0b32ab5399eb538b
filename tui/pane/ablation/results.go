// Package ablation provides the pane with the results of an ablation, of single settings or
// factorial, and the list from which one is started.
package ablation

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/criteria"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The pane of an ablation: its keys and explanations, the table of single settings, and how long an ablation takes.

// Pane specifies the pane that shows the results of an ablation.
var Pane = pane.Spec{
	Name:  "ablation",
	Shape: layout.Shape{Width: layout.Extent{Least: 60, Good: 104, Most: 140, Weight: 2}, Height: layout.Extent{Least: 6, Good: 16, Most: 20, Weight: 1}},
	New:   func(h pane.Host) pane.Pane { return newView(h) },
}

// view shows the table of an ablation.
type view struct {
	pane.Box
	host pane.Host
}

func newView(h pane.Host) *view {
	return &view{Box: pane.Box{Title: "Ablation"}, host: h}
}

// Cells returns the pane as it is on the screen.
func (p *view) Cells() *chart.Canvas { return p.Render(p.draw) }

// Press stops a running ablation with esc; the next esc leaves the pane.
func (p *view) Press(key string) bool {
	if key == "esc" && p.startable() && p.host.AblationRuns() {
		p.host.ToggleAblation()
		return true
	}
	return false
}

// Hints returns the pane's keys.
func (p *view) Hints() []pane.Hint {
	if p.Snap != nil && words.Ended(p.Snap.State) || !p.startable() {
		return nil
	}
	return []pane.Hint{{Key: p.host.Keys().Of("ablate"), Does: "start or stop"}, {Key: "esc", Does: "stop, then leave"}}
}

// startable reports whether an ablation can be started from this screen.
func (p *view) startable() bool { return p.host.Keys().Of("ablate") != "" }

//go:embed explain.md
var explainMarkdown string

// explanations are the pane's texts.
var explanations = pane.ParseExplanations(explainMarkdown)

// Explain describes the columns and how they are measured.
func (p *view) Explain() []string {
	ends := explanations.Of("ends")
	if !p.startable() {
		ends = explanations.Of("watching")
	}
	var about []string
	switch {
	case p.Snap != nil && p.Snap.Ablation != nil && shown(p.Snap).Factorial != nil:
		about = explainFactorial(shown(p.Snap).Factorial)
	case p.Snap != nil && len(criteria.Live(p.Snap)) > 0:
		about = append(p.explainSingle(), explanations.Of("acceptance")...)
	default:
		about = p.explainSingle()
	}
	return slices.Concat(about, explanations.Of("load"), ends)
}

// explainSingle describes the table of single settings.
func (p *view) explainSingle() []string {
	quality, kinds, one := "", "", "unit"
	if p.Snap != nil {
		kinds, one = words.Kinds(&p.Snap.Run.Schema), cmp.Or(p.Snap.Run.Schema.Unit.One, one)
		if q := p.Snap.Run.Schema.QualityInfo(); q.Name != "" {
			quality = explanations.Of("single, quality", "{title}", q.Title, "{unit}", inUnit(q.Unit))[0]
		}
	}
	return explanations.Of("single", "{quality}", quality, "{kinds}", kinds, "{unit}", one)
}

// inUnit returns "in dB " for a unit, "" for none.
func inUnit(unit string) string {
	if unit == "" {
		return ""
	}
	return "in " + unit + " "
}

// shown returns the ablation that the pane shows: what runs, else the newest table, which a replication does not
// replace.
func shown(s *profiles.Snapshot) *profiles.Ablation {
	if s.Compared != nil && (s.Ablation == nil || !s.Ablation.Running) {
		return s.Compared
	}
	return s.Ablation
}

func (p *view) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	a := shown(s)
	if a == nil && words.Ended(s.State) {
		text := "No ablation ran in this run."
		if keys := p.host.Keys(); p.startable() && keys.Of("restart") != "" {
			text += keys.Say(" {restart|A restart} starts the next; {ablate|an ablation} then switches each " +
				"optimisation off and on while it goes on.")
		}
		pane.WriteWrapped(c, 0, 0, 4, text, theme.Faint)
		return "", theme.Faint
	}
	if a == nil && len(s.Settings.Table().Compares()) == 0 {
		pane.WriteWrapped(c, 0, 0, 4, "No setting of this run is one that an ablation compares.", theme.Faint)
		return "", theme.Faint
	}
	if a == nil && !p.startable() {
		pane.WriteWrapped(c, 0, 0, 4, "No ablation runs, and none can be started from here.", theme.Faint)
		return "", theme.Faint
	}
	if a == nil {
		text := "{ablate|An ablation} switches each optimisation off and on in balanced blocks while the " +
			"run goes on, and tells here what it saves or costs. " + Length(s) +
			" The settings then are what they were."
		if Offered(s.Settings.Table()) {
			text += " {ablate|It} also offers every combination of some of them: whether their speed-ups multiply."
		}
		pane.WriteWrapped(c, 0, 0, 6, p.host.Keys().Say(profiles.Advice(text)), theme.Faint)
		return "", theme.Faint
	}
	if a.Factorial != nil {
		return p.factorial(c, a)
	}
	return p.table(c, a)
}

// table draws an ablation of single settings.
func (p *view) table(c *chart.Canvas, a *profiles.Ablation) (string, theme.Style) {
	w, h := c.Size()
	columns := columnsOf(w, a.Quality)
	for _, col := range columns {
		col.write(c, 0, col.name, theme.Axis)
	}
	for i := range min(len(a.Rows), h-2) {
		r := &a.Rows[i]
		for _, col := range columns {
			text, style := col.of(r)
			col.write(c, i+1, text, style)
		}
		if a.Running && i == a.Now {
			c.Set(0, i+1, '▸', theme.Key)
		}
	}
	if list := criteria.Live(p.Snap); len(list) > 0 {
		return p.withList(c, list)
	}
	if y := len(a.Rows) + 1; y < h-1 {
		table := c
		if beside := beside(columns); w-beside >= chart.ForestWidth {
			plot, left := c.Sub(beside, 1, w-beside, y), c.Sub(0, 0, beside-2, h)
			c.Text(beside, 0, "time of an iteration, on against off", theme.Axis)
			chart.Forest(&plot, whiskers(a, false), 0)
			table = &left
		}
		y = p.notes(table, y, h-1, a)
		y = p.recommended(table, y, h-1, a)
		switch {
		case table != c:
			y = max(y, len(a.Rows)+2) // the axis of the forest to the right
		case h-1-y >= len(a.Rows)+4:
			c.Text(2, y+1, "time of an iteration with the setting on, against off", theme.Axis)
			plot := c.Sub(2, y+2, w-2, len(a.Rows)+1)
			chart.Forest(&plot, whiskers(a, true), columns[1].x-2)
			y += len(a.Rows) + 3
		}
		p.below(c, y, h-1, a)
	}
	p.foot(c, a)
	if hidden := len(a.Rows) - (h - 2); hidden > 0 {
		return fmt.Sprintf("%d more in a larger pane", hidden), theme.Faint
	}
	return "", theme.Faint
}

// foot writes the progress in the last row.
func (p *view) foot(c *chart.Canvas, a *profiles.Ablation) {
	w, h := c.Size()
	style := theme.Strong
	switch {
	case disturbed(a):
		style = theme.Warn
	case !a.Running:
		style = theme.Faint
	}
	c.Text(0, h-1, chart.Cut(progressOf(a, p.host.Keys().Of("ablate")), w), style)
}

// notes writes why settings cannot matter, between row y and end, and returns the next free row.
func (p *view) notes(c *chart.Canvas, y, end int, a *profiles.Ablation) int {
	w, _ := c.Size()
	for _, r := range a.Rows {
		if r.Note != "" && y < end {
			c.Text(2, y, chart.Cut(r.Name()+": "+r.Note, w-2), theme.Faint)
			y++
		}
	}
	return y
}

// beside returns the first column to the right of the table and its verdicts.
func beside(columns []column) int {
	return columns[len(columns)-1].x + tableColumns[len(tableColumns)-1].w + 2
}

// whiskers returns the effects as rows of a forest plot.
func whiskers(a *profiles.Ablation, named bool) []chart.Whisker {
	rows := make([]chart.Whisker, len(a.Rows))
	for i := range a.Rows {
		r := &a.Rows[i]
		rows[i] = chart.Whisker{At: r.Effect, Low: r.Low, High: r.High, Bounded: r.Judge() != profiles.Unjudged,
			Style: pane.JudgementStyle(r)}
		if named {
			rows[i].Name = r.Name()
		}
	}
	return rows
}

// disturbed reports whether other programs took a considerable share of the CPU meanwhile.
func disturbed(a *profiles.Ablation) bool { return a.ForeignKnown && a.Foreign > machine.Quiet }

// progressOf returns the progress of an ablation with the key that stops it, or how it ended.
func progressOf(a *profiles.Ablation, stop string) string {
	kind := ""
	if a.Work != "" {
		kind = " · " + a.Work
	}
	if disturbed(a) {
		kind = " · " + words.OthersTook(a.Foreign) + kind
	}
	one, done, all := "group", a.Done, a.Groups
	if a.Factorial != nil {
		one, done, all = "round", a.Factorial.Rounds, a.Rounds
	}
	if !a.Running {
		return fmt.Sprintf("ended: %s · %d of %d %ss in %s%s", a.Ended, done, all, one, roughly(a.Spent), kind)
	}
	left := "time left not known yet"
	if a.LeftKnown {
		left = "left " + unit.Estimate(a.Left)
	}
	if stop != "" {
		left += " · " + stop + " stops"
	}
	return fmt.Sprintf("%s %d of %d · %s%s", one, min(done+1, all), all, left, kind)
}

// roughly formats a duration in whole seconds or minutes.
func roughly(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	if d < 100*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// Length estimates how long an ablation of single settings takes.
func Length(s *profiles.Snapshot) string {
	pace, ok := paceOf(s)
	if !ok {
		return ""
	}
	pairs := pairsOf(s.Settings.Table())
	return fmt.Sprintf("%d settings in %d rounds take %s.", pairs, profiles.AblationRounds,
		unit.Estimate(profiles.AblationEstimate(pairs, pace)))
}

// FactorialLength estimates how long a factorial ablation of a number of settings takes.
func FactorialLength(s *profiles.Snapshot, factors int) string {
	pace, ok := paceOf(s)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d combinations in %d rounds take %s.", 1<<factors, profiles.FactorialRounds,
		unit.Estimate(profiles.FactorialEstimate(factors, pace)))
}

// paceOf returns the median time of an iteration, if it is known.
func paceOf(s *profiles.Snapshot) (time.Duration, bool) {
	if s.Total.N == 0 || !(s.Total.Median > 0) || s.Total.Median > math.MaxInt32*1e3 {
		return 0, false
	}
	return time.Duration(s.Total.Median), true
}

// pairsOf returns the number of pairs of values that an ablation compares.
func pairsOf(t *settings.Table) (pairs int) {
	for _, k := range t.Compares() {
		pairs += len(k.Compared.Pairs)
	}
	return pairs
}

// column is a column of the table.
type column struct {
	name  string
	x, w  int
	right bool
	of    func(*profiles.AblationRow) (string, theme.Style)
}

func (col *column) write(c *chart.Canvas, y int, text string, style theme.Style) {
	text = chart.Cut(text, col.w)
	if col.right {
		c.TextRight(col.x+col.w, y, text, style)
		return
	}
	c.Text(col.x, y, text, style)
}

// The columns, and the order in which they are dropped from a narrow table.
var (
	tableColumns = []column{
		{name: "setting", w: 18, of: func(r *profiles.AblationRow) (string, theme.Style) { return r.Name(), theme.Plain }},
		{name: "off ms", w: 7, right: true, of: func(r *profiles.AblationRow) (string, theme.Style) { return timeOf(r.OffNS), theme.Plain }},
		{name: "on ms", w: 7, right: true, of: func(r *profiles.AblationRow) (string, theme.Style) { return timeOf(r.OnNS), theme.Plain }},
		{name: "effect", w: 8, right: true, of: effectCell},
		{name: "95 % interval", w: 14, of: intervalCell},
		{name: "memory", w: 9, right: true, of: memoryCell},
		{name: qualityColumn, w: 7, right: true},
		{name: qualityInterval, w: 14, of: qualityIntervalCell},
		{name: "n", w: 6, right: true, of: func(r *profiles.AblationRow) (string, theme.Style) {
			return unit.Count(int64(r.Iterations)), theme.Faint
		}},
		{name: "verdict", w: 22, of: func(r *profiles.AblationRow) (string, theme.Style) { return r.Verdict(), pane.JudgementStyle(r) }},
	}
	spareColumns = []string{qualityInterval, qualityColumn, "n", "off ms", "on ms", "memory", "95 % interval"}
)

// qualityColumn stands for the column of the quality, which is named after the workload's series.
const qualityColumn = "quality"

// qualityInterval is the column of its interval.
const qualityInterval = "95 % interval "

// columnsOf returns the columns that fit into w cells, with their positions. Workloads without a
// series for the quality have no column for it.
func columnsOf(w int, quality profiles.SeriesInfo) []column {
	columns := append([]column(nil), tableColumns...)
	if quality.Name == "" {
		columns = slices.DeleteFunc(columns, func(col column) bool {
			return col.name == qualityColumn || col.name == qualityInterval
		})
	}
	need := func() (n int) {
		for _, col := range columns {
			n += col.w + 1
		}
		return n + 1
	}
	for _, name := range spareColumns {
		if need() <= w {
			break
		}
		for i := range columns {
			if columns[i].name == name {
				columns = append(columns[:i], columns[i+1:]...)
				break
			}
		}
	}
	x := 2
	for i := range columns {
		if columns[i].name == qualityColumn {
			columns[i].name = cmp.Or(quality.Unit, quality.Title) + "/100"
			columns[i].of = func(r *profiles.AblationRow) (string, theme.Style) {
				return qualityCell(r, quality.Better)
			}
		}
		columns[i].x = x
		x += columns[i].w + 1
	}
	last := &columns[len(columns)-1]
	last.w = max(w-last.x, 0)
	return columns
}

func timeOf(ns float64) string {
	if math.IsNaN(ns) {
		return "–"
	}
	return strings.TrimSpace(unit.Milliseconds(ns))
}

func effectCell(r *profiles.AblationRow) (string, theme.Style) {
	if math.IsNaN(r.Effect) {
		return "–", theme.Faint
	}
	return unit.SignedPercent(r.Effect), pane.JudgementStyle(r)
}

func intervalCell(r *profiles.AblationRow) (string, theme.Style) {
	if r.Judge() == profiles.Unjudged {
		return "–", theme.Faint
	}
	return "[" + unit.Signed(100*r.Low, 1) + "," + unit.Signed(100*r.High, 1) + "]", theme.Faint
}

func qualityIntervalCell(r *profiles.AblationRow) (string, theme.Style) {
	if _, bounded := r.JudgeQuality(); !bounded {
		return "–", theme.Faint
	}
	return "[" + unit.Signed(r.QualityLow, 2) + "," + unit.Signed(r.QualityHigh, 2) + "]", theme.Faint
}

func memoryCell(r *profiles.AblationRow) (string, theme.Style) {
	more := r.OnBytes - r.OffBytes
	switch {
	case !r.HasMemory:
		return "–", theme.Faint
	case more == 0:
		return "same", theme.Faint
	case more < 0:
		return "−" + unit.Size(-more), theme.Good
	}
	return "+" + unit.Size(more), theme.Plain
}

func qualityCell(r *profiles.AblationRow, better profiles.Direction) (string, theme.Style) {
	style := theme.Faint
	switch f, bounded := r.JudgeQuality(); {
	case !bounded, better == profiles.NoBetter:
	case f == stats.Above && better == profiles.MoreIsBetter, f == stats.Below && better == profiles.LessIsBetter:
		style = theme.Good
	case f.Excluded():
		style = theme.Bad
	}
	return r.Gained(), style
}
