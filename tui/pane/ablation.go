package pane

import (
	"fmt"
	"math"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// Ablation specifies the pane that shows the results of an ablation.
var Ablation = Spec{
	Name:  "ablation",
	Shape: layout.Shape{Width: layout.Extent{Least: 60, Good: 104, Most: 140, Weight: 2}, Height: layout.Extent{Least: 6, Good: 16, Most: 20, Weight: 1}},
	New:   func(h Host) Pane { return newAblationView(h) },
}

// ablationView shows the table of an ablation.
type ablationView struct {
	Box
	host Host
}

func newAblationView(h Host) *ablationView {
	return &ablationView{Box: Box{Title: "Ablation"}, host: h}
}

// Lines returns the pane as lines.
func (p *ablationView) Lines() []string { return p.Render(p.draw) }

// Press stops a running ablation with esc; the next esc leaves the pane.
func (p *ablationView) Press(key string) bool {
	if key == "esc" && p.startable() && p.host.AblationRuns() {
		p.host.ToggleAblation()
		return true
	}
	return false
}

// Hints returns the pane's keys.
func (p *ablationView) Hints() []Hint {
	if p.Snap != nil && words.Ended(p.Snap.State) || !p.startable() {
		return nil
	}
	return []Hint{{"A", "start or stop"}, {"esc", "stop, then leave"}}
}

// startable reports whether an ablation can be started from this screen.
func (p *ablationView) startable() bool { return p.host.KeyOf("ablate") != "" }

// Explain describes the columns and how they are measured.
func (p *ablationView) Explain() []string {
	ends := "A, esc, a change of a setting, a restart and the run's end stop it; the settings then are what they were, but for that change."
	if !p.startable() {
		ends = "An ablation of this run cannot be started from here."
	}
	return []string{
		"Each setting is switched off and on with all others as you had them, in groups of four blocks: off on on off, or " +
			"on off off on, by turns, in a new random order of settings each round. Within a group a steady drift of the " +
			"machine and of the training cancels.",
		"A block is 10 iterations and 100 ms at least, the same number for all four; 3 iterations after each switch, those " +
			"that ended a sample and the first after a plan was compiled are left out. Iterations of the initialisation, of " +
			"the first sample and of later samples are never put beside each other.",
		"Effect is on over off, less one: the centre of the groups by Hodges and Lehmann, with the 95 % interval of " +
			"Wilcoxon's signed-rank test, which needs 6 groups. No effect seen means that the interval holds 0; ± says how " +
			"large an effect could hide in it.",
		"Memory is what the run holds with the setting on less off, in bytes from the plan and the caches. PSNR is what " +
			"training gains more or less with it on, in dB over 100 iterations.",
		"Other programs slow the blocks of both values alike: their work widens an interval and does not shift it, unless it keeps " +
			"time with the blocks. The foot tells what share of the processors they took since the ablation began, where that is more than 6 %.",
		ends,
	}
}

func (p *ablationView) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	a := s.Ablation
	if a == nil && words.Ended(s.State) {
		text := "No ablation ran in this run."
		if p.startable() && p.host.KeyOf("restart") != "" {
			text += " R starts the next; A then switches each optimisation off and on while it goes on."
		}
		writeWrapped(c, 0, 0, 4, text, theme.Faint)
		return "", theme.Faint
	}
	if a == nil && len(s.Settings.Table().Compares()) == 0 {
		writeWrapped(c, 0, 0, 4, "No setting of this run is one that an ablation compares.", theme.Faint)
		return "", theme.Faint
	}
	if a == nil && !p.startable() {
		writeWrapped(c, 0, 0, 4, "No ablation runs, and none can be started from here.", theme.Faint)
		return "", theme.Faint
	}
	if a == nil {
		writeWrapped(c, 0, 0, 4, "A switches each optimisation off and on in balanced blocks while the run goes on, and tells here "+
			"what it saves or costs. "+AblationLength(s)+" The settings then are what they were.", theme.Faint)
		return "", theme.Faint
	}
	w, h := c.Size()
	columns := ablationColumns(w)
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
	if y := len(a.Rows) + 1; y < h-1 {
		table := c
		if beside := ablationBeside(columns); w-beside >= forestWidth {
			plot, left := c.Sub(beside, 1, w-beside, y), c.Sub(0, 0, beside-2, h)
			c.Text(beside, 0, "time of an iteration, on against off", theme.Axis)
			forest(&plot, ablationWhiskers(a, false), 0)
			table = &left
		}
		y = p.notes(table, y, h-1, a)
		switch {
		case table != c:
			y = max(y, len(a.Rows)+2) // the axis of the forest to the right
		case h-1-y >= len(a.Rows)+4:
			c.Text(2, y+1, "time of an iteration with the setting on, against off", theme.Axis)
			plot := c.Sub(2, y+2, w-2, len(a.Rows)+1)
			forest(&plot, ablationWhiskers(a, true), columns[1].x-2)
			y += len(a.Rows) + 3
		}
		p.below(c, y, h-1, a)
	}
	style := theme.Strong
	switch {
	case disturbed(a):
		style = theme.Warn
	case !a.Running:
		style = theme.Faint
	}
	c.Text(0, h-1, chart.Cut(progressOf(a, p.startable()), w), style)
	if hidden := len(a.Rows) - (h - 2); hidden > 0 {
		return fmt.Sprintf("%d more in a larger pane", hidden), theme.Faint
	}
	return "", theme.Faint
}

// notes writes why settings cannot matter, between row y and end, and returns the next free row.
func (p *ablationView) notes(c *chart.Canvas, y, end int, a *profiles.Ablation) int {
	w, _ := c.Size()
	for _, r := range a.Rows {
		if r.Note != "" && y < end {
			c.Text(2, y, chart.Cut(r.Name()+": "+r.Note, w-2), theme.Faint)
			y++
		}
	}
	return y
}

// ablationBeside returns the first column to the right of the table and its verdicts.
func ablationBeside(columns []ablationColumn) int {
	return columns[len(columns)-1].x + ablationTable[len(ablationTable)-1].w + 2
}

// ablationWhiskers returns the effects as rows of a forest plot.
func ablationWhiskers(a *profiles.Ablation, named bool) []whisker {
	rows := make([]whisker, len(a.Rows))
	for i := range a.Rows {
		r := &a.Rows[i]
		rows[i] = whisker{"", r.Effect, r.Low, r.High, r.Judge() != profiles.Undecided, judgementStyle(r)}
		if named {
			rows[i].name = r.Name()
		}
	}
	return rows
}

// disturbed reports whether other programs took a considerable share of the CPU meanwhile.
func disturbed(a *profiles.Ablation) bool { return a.ForeignKnown && a.Foreign > machine.Quiet }

// progressOf returns the progress of an ablation, or how it ended.
func progressOf(a *profiles.Ablation, stoppable bool) string {
	kind := ""
	if a.Work != "" {
		kind = " · " + a.Work
	}
	if disturbed(a) {
		kind = " · " + words.OthersTook(a.Foreign) + kind
	}
	if !a.Running {
		return fmt.Sprintf("ended: %s · %d of %d groups in %s%s", a.Ended, a.Done, a.Groups, roughly(a.Spent), kind)
	}
	left := "time left not known yet"
	if a.LeftKnown {
		left = "left " + unit.Estimate(a.Left)
	}
	if stoppable {
		left += " · A stops"
	}
	return fmt.Sprintf("group %d of %d · %s%s", min(a.Done+1, a.Groups), a.Groups, left, kind)
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

// AblationLength estimates how long an ablation takes.
func AblationLength(s *profiles.Snapshot) string {
	if s.Total.N == 0 || !(s.Total.Median > 0) || s.Total.Median > math.MaxInt32*1e3 {
		return ""
	}
	pairs := 0
	for _, k := range s.Settings.Table().Compares() {
		pairs += len(k.Compared.Pairs)
	}
	return fmt.Sprintf("%d settings in %d rounds take %s.", pairs, profiles.AblationRounds,
		unit.Estimate(profiles.AblationEstimate(pairs, time.Duration(s.Total.Median))))
}

// ablationColumn is a column of the table.
type ablationColumn struct {
	name  string
	x, w  int
	right bool
	of    func(*profiles.AblationRow) (string, theme.Style)
}

func (col *ablationColumn) write(c *chart.Canvas, y int, text string, style theme.Style) {
	text = chart.Cut(text, col.w)
	if col.right {
		c.TextRight(col.x+col.w, y, text, style)
		return
	}
	c.Text(col.x, y, text, style)
}

// The columns, and the order in which they are dropped from a narrow table.
var (
	ablationTable = []ablationColumn{
		{name: "setting", w: 18, of: func(r *profiles.AblationRow) (string, theme.Style) { return r.Name(), theme.Plain }},
		{name: "off ms", w: 7, right: true, of: func(r *profiles.AblationRow) (string, theme.Style) { return timeOf(r.OffNS), theme.Plain }},
		{name: "on ms", w: 7, right: true, of: func(r *profiles.AblationRow) (string, theme.Style) { return timeOf(r.OnNS), theme.Plain }},
		{name: "effect", w: 8, right: true, of: ablationEffect},
		{name: "95 % interval", w: 14, of: ablationInterval},
		{name: "memory", w: 9, right: true, of: ablationMemory},
		{name: "dB/100", w: 7, right: true, of: ablationQuality},
		{name: "n", w: 6, right: true, of: func(r *profiles.AblationRow) (string, theme.Style) {
			return unit.Count(int64(r.Iterations)), theme.Faint
		}},
		{name: "verdict", w: 22, of: func(r *profiles.AblationRow) (string, theme.Style) { return r.Verdict(), judgementStyle(r) }},
	}
	ablationSpares = []string{"dB/100", "n", "off ms", "on ms", "memory", "95 % interval"}
)

// ablationColumns returns the columns that fit into w cells, with their positions.
func ablationColumns(w int) []ablationColumn {
	columns := append([]ablationColumn(nil), ablationTable...)
	need := func() (n int) {
		for _, col := range columns {
			n += col.w + 1
		}
		return n + 1
	}
	for _, name := range ablationSpares {
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

func ablationEffect(r *profiles.AblationRow) (string, theme.Style) {
	if math.IsNaN(r.Effect) {
		return "–", theme.Faint
	}
	return unit.SignedPercent(r.Effect), judgementStyle(r)
}

func ablationInterval(r *profiles.AblationRow) (string, theme.Style) {
	if r.Judge() == profiles.Undecided {
		return "–", theme.Faint
	}
	return "[" + unit.Signed(100*r.Low, 1) + "," + unit.Signed(100*r.High, 1) + "]", theme.Faint
}

func ablationMemory(r *profiles.AblationRow) (string, theme.Style) {
	more := r.OnBytes - r.OffBytes
	switch {
	case !r.HasMemory:
		return "–", theme.Faint
	case more == 0:
		return "same", theme.Faint
	case more < 0:
		return "−" + strings.TrimSpace(unit.Bytes(-more)), theme.Good
	}
	return "+" + strings.TrimSpace(unit.Bytes(more)), theme.Plain
}

func ablationQuality(r *profiles.AblationRow) (string, theme.Style) {
	switch {
	case r.QualityGroups == 0 || math.IsNaN(r.Quality):
		return "–", theme.Faint
	case r.QualityHigh < 0:
		return unit.Signed(r.Quality, 2), theme.Bad
	case r.QualityLow > 0:
		return unit.Signed(r.Quality, 2), theme.Good
	}
	return unit.Signed(r.Quality, 2), theme.Faint
}

// judgementStyle is good where a setting saves time, bad where it costs time.
func judgementStyle(r *profiles.AblationRow) theme.Style {
	switch r.Judge() {
	case profiles.Saves:
		return theme.Good
	case profiles.Costs:
		return theme.Bad
	case profiles.NoEffect:
		return theme.Strong
	}
	return theme.Faint
}
