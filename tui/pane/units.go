package pane

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// The pane of the results of units: its columns, its order, and the row of the running unit.

// Units specifies the pane of the results of each unit of work.
var Units = Spec{
	Name:   "samples",
	Shape:  layout.Shape{Width: layout.Extent{Least: 32, Good: 34, Most: 44, Weight: 1}, Height: layout.Extent{Least: 5, Good: 9, Most: 13, Weight: 1}},
	Called: func(r *profiles.RunInfo) string { return r.Schema.Unit.Many },
	Needs:  func(r *profiles.RunInfo) bool { return r.Units > 0 && !r.Schema.Tasks },
	New:    func(Host) Pane { return newUnits() },
}

// units lists the results of each unit of work, with the running one on top.
type units struct {
	Box
	widget.Scroll
	order unitOrder

	// Derived from the results so far.
	sorted  []profiles.UnitResult
	ordered unitOrder
	median  float64 // seconds per unit
	ends    words.UnitEnds
	from    *profiles.UnitResult
}

// unitOrder is the order of the table.
type unitOrder uint8

const (
	byNumber unitOrder = iota
	byTime
	byIterations
	unitOrders
)

// String describes the order.
func (o unitOrder) String() string {
	return [...]string{"newest first", "longest first", "most iterations first"}[o]
}

func newUnits() *units { return &units{Box: Box{Title: "Units"}} }

// Cells returns the pane as it is on the screen.
func (p *units) Cells() *chart.Canvas { return p.Render(p.draw) }

// Hints returns the table's keys.
func (p *units) Hints() []Hint { return []Hint{{"x", "sort"}, {"↑↓", "scroll"}} }

// Update takes the name of the units from the run.
func (p *units) Update(s *profiles.Snapshot) {
	if many := s.Run.Schema.Unit.Many; many != "" {
		p.Title = words.Capital(many)
	}
	p.Box.Update(s)
}

// Explain describes the columns.
func (p *units) Explain() []string {
	one := "unit"
	if p.Snap != nil && p.Snap.Run.Schema.Unit.One != "" {
		one = p.Snap.Run.Schema.Unit.One
	}
	earlier, kind := "", "units"
	if p.Snap != nil && p.Snap.Earlier.Units > 0 {
		earlier = fmt.Sprintf("The table has the newest %s; all are counted.",
			unit.Plural(len(p.Snap.Results), one, p.Snap.Run.Schema.Unit.Many))
	}
	var losses []string
	if p.Snap == nil || len(p.Snap.Run.KSpace().Centres) > 0 {
		kind, losses = "units, samples", explanations.Of("units, losses")
	}
	return slices.Concat(explanations.Of(kind, "{unit}", one), explanations.Of("units, times", "{unit}", one), losses,
		explanations.Of("units, order", "{earlier}", earlier))
}

// Press scrolls; x changes the order.
func (p *units) Press(key string) bool {
	if key == "x" {
		p.order = (p.order + 1) % unitOrders
		p.ToTop()
	} else if !p.Scroll.Move(key) {
		return false
	}
	p.Stale = true
	return true
}

// unitColumn is a column of the table: its title, width and text.
type unitColumn struct {
	title string
	width int
	least int // minimum width of the pane
	cell  func(s *profiles.Snapshot, r profiles.UnitResult) string
}

// unitColumns returns the columns of a run: those of every run, those of the losses by which its units end, the
// oldest of which goes first where there is little room, and the place of a unit that has one.
func unitColumns(s *profiles.Snapshot) []unitColumn {
	all := []unitColumn{
		iterationsColumn,
		{"time", 8, 0, func(_ *profiles.Snapshot, r profiles.UnitResult) string {
			return unit.Seconds(float64(r.Elapsed))
		}},
		{"ms each", 8, 40, func(_ *profiles.Snapshot, r profiles.UnitResult) string {
			return unit.Milliseconds(float64(r.Elapsed) / float64(r.Iterations))
		}},
	}
	if losses := unitLosses(s); len(losses) > 0 {
		for i, loss := range losses {
			title := s.Run.Schema.Series[loss].Alone()
			all = append(all, unitColumn{title, max(9, chart.Width(title)+1), 50 + 10*(len(losses)-1-i),
				func(_ *profiles.Snapshot, r profiles.UnitResult) string { return unit.Loss(r.Values[loss]) }})
		}
	}
	if len(s.Run.KSpace().Centres) > 0 {
		all = append(all, unitColumn{"centre, px", 12, 75, func(s *profiles.Snapshot, r profiles.UnitResult) string {
			return centre(s, int(r.Unit))
		}})
	}
	return all
}

// iterationsColumn is the first.
var iterationsColumn = unitColumn{"iterations", 10, 0, func(_ *profiles.Snapshot, r profiles.UnitResult) string {
	return unit.Count(int64(r.Iterations))
}}

// unitLosses are the series of the losses by which units end; none where a unit does not end by one.
func unitLosses(s *profiles.Snapshot) []int {
	if s.Run.Schema.Threshold == "" {
		return nil
	}
	return s.Run.Schema.Group(profiles.Losses)
}

// Widths and positions of the columns of a unit.
const (
	unitNumberWidth = 4
	unitResultWidth = 10
	unitFixed       = unitNumberWidth + 1 + unitResultWidth
)

func (p *units) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	live := s.State == profiles.Running || s.State == profiles.Paused
	if len(s.Results) == 0 && !(live && s.Index > 0) {
		Message(c, "no "+cmp.Or(s.Run.Schema.Unit.One, "unit")+" ended"+words.Yet(s))
		return "", theme.Faint
	}
	p.work(s)
	y := 0
	if h >= 4 {
		p.titles(c, s)
		y++
	}
	if live && h >= 3 {
		runningUnit(c, y, s)
		y++
	}
	first, last := p.Fit(len(p.sorted), h-y)
	for i, r := range p.sorted[first:last] {
		unitRow(c, y+i, s, r)
	}
	p.Aside(words.Fitting(w-4-chart.Width(p.Title)-4,
		fmt.Sprintf("%s · %s", p.summary(s), p.order), p.summary(s), p.ends.String()), theme.Faint)
	return p.Note("above", "below"), theme.Faint
}

// work sorts and counts the results if there are new ones or the order changed.
func (p *units) work(s *profiles.Snapshot) {
	n := len(s.Results)
	if n == 0 {
		p.sorted, p.from, p.median, p.ends = nil, nil, 0, words.UnitEnds{}
		return
	}
	if len(p.sorted) == n && p.ordered == p.order && p.from == &s.Results[n-1] {
		return
	}
	p.from, p.ordered = &s.Results[n-1], p.order
	p.sorted = slices.Clone(s.Results)
	slices.SortFunc(p.sorted, func(a, b profiles.UnitResult) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
	p.median = (p.sorted[(n-1)/2].Elapsed + p.sorted[n/2].Elapsed).Seconds() / 2
	p.ends = words.CountEnds(s)
	slices.SortFunc(p.sorted, func(a, b profiles.UnitResult) int {
		switch {
		case p.order == byTime && a.Elapsed != b.Elapsed:
			return cmp.Compare(b.Elapsed, a.Elapsed)
		case p.order == byIterations && a.Iterations != b.Iterations:
			return cmp.Compare(b.Iterations, a.Iterations)
		}
		return cmp.Compare(b.Unit, a.Unit)
	})
}

// summary counts the units.
func (p *units) summary(s *profiles.Snapshot) string {
	done := strconv.Itoa(s.UnitsEnded())
	if all := s.Run.AllUnits(); all > 0 {
		done = fmt.Sprintf("%s of %d", done, all)
	}
	if len(p.sorted) == 0 {
		return done
	}
	parts := []string{done}
	if ends := p.ends.String(); ends != "" {
		parts = append(parts, ends)
	}
	return strings.Join(append(parts, "median "+strings.TrimSpace(unit.Seconds(p.median*1e9))), " · ")
}

// titles writes the titles of the columns.
func (p *units) titles(c *chart.Canvas, s *profiles.Snapshot) {
	c.TextRight(unitNumberWidth, 0, "#", theme.Faint)
	c.Text(unitNumberWidth+1, 0, "ended", theme.Faint)
	end := 0
	eachColumn(c, s, func(x int, col unitColumn) { end = x; c.TextRight(x, 0, col.title, theme.Faint) })
	if limit := unitLimit(s); limit > 0 {
		bar := unitBar(c, 0, end)
		bar.Text(0, 0, "iterations, full at "+unit.Count(limit), theme.Faint)
	}
}

// unitLimit returns the maximum number of iterations of a unit; 0 for no limit.
func unitLimit(s *profiles.Snapshot) int64 {
	return s.Settings.Product(s.Settings.Table().Roles().Unit)
}

// eachColumn calls draw with the right end of each column that fits.
func eachColumn(c *chart.Canvas, s *profiles.Snapshot, draw func(x int, col unitColumn)) {
	w, _ := c.Size()
	x := unitFixed
	for _, col := range unitColumns(s) {
		if w < col.least || x+1+col.width > w {
			continue
		}
		x += 1 + col.width
		draw(x, col)
	}
}

func unitRow(c *chart.Canvas, y int, s *profiles.Snapshot, r profiles.UnitResult) {
	c.TextRight(unitNumberWidth, y, strconv.Itoa(int(r.Unit)+1), theme.Strong)
	text, style := unitEnd(&r)
	c.Text(unitNumberWidth+1, y, text, style)
	end := 0
	eachColumn(c, s, func(x int, col unitColumn) {
		c.TextRight(x, y, col.cell(s, r), theme.Plain)
		end = x
	})
	if bar, limit := unitBar(c, y, end), unitLimit(s); limit > 0 {
		w, _ := bar.Size()
		bar.Bar(0, 0, w, min(float64(r.Iterations)/float64(limit), 1)*float64(w), style)
	}
}

// unitEnd describes how a unit ended.
func unitEnd(r *profiles.UnitResult) (string, theme.Style) {
	switch {
	case r.Converged:
		return "converged", theme.Good
	case r.Failed():
		return "limit", theme.Warn
	}
	return "done", theme.Plain // no threshold was in force
}

// unitBar returns the space to the right of the columns for a bar of a unit's iterations that is
// full at the limit; empty if it is too small.
func unitBar(c *chart.Canvas, y, end int) chart.Canvas {
	w, _ := c.Size()
	if end += 3; w-end < 16 {
		return chart.Canvas{}
	}
	return c.Sub(end, y, min(w-end, 80), 1)
}

// runningUnit writes the row of the running unit, with its progress towards the limit.
func runningUnit(c *chart.Canvas, y int, s *profiles.Snapshot) {
	w, _ := c.Size()
	name, limit := strconv.Itoa(s.Unit+1), unitLimit(s)
	if !s.InUnits() {
		name, limit = "init", s.Settings.Product(s.Settings.Table().Roles().Before)
	}
	c.TextRight(unitNumberWidth, y, chart.Cut(name, unitNumberWidth), theme.Current)
	state := "training"
	if s.State == profiles.Paused {
		state = "paused"
	}
	c.Text(unitNumberWidth+1, y, state, theme.Current)
	done := s.InUnit + 1
	c.TextRight(unitFixed+1+iterationsColumn.width, y, unit.Count(int64(done)), theme.Strong)
	x := unitFixed + iterationsColumn.width + 2
	of := "of " + unit.Count(limit) + " "
	if limit <= 0 || x+chart.Width(of) > w {
		return
	}
	x = c.Text(x, y, of, theme.Faint)
	newest := ""
	if losses := unitLosses(s); len(losses) > 0 && len(s.Series[losses[len(losses)-1]].Curve) > 0 && w-x >= 40 {
		newest = " loss " + strings.TrimSpace(unit.Loss(s.Series[losses[len(losses)-1]].Latest))
		c.TextRight(w, y, newest, theme.Plain)
	}
	room := min(w-x-chart.Width(newest), 40)
	c.Bar(x, y, room, float64(done)/float64(limit)*float64(room), theme.Current)
}

// centre formats the position of a sample's aperture in k-space; for a line of apertures, its
// middle.
func centre(s *profiles.Snapshot, sample int) string {
	k := s.Run.KSpace()
	per := max(k.PerSample, 1)
	sample, _ = s.Run.Place(sample)
	if sample < 0 || (sample+1)*per > len(k.Centres) {
		return "–"
	}
	var y, x float64
	for _, c := range k.Centres[sample*per : (sample+1)*per] {
		y, x = y+c[0]/float64(per), x+c[1]/float64(per)
	}
	return wholeSigned(x) + ", " + wholeSigned(-y)
}

// wholeSigned formats a number rounded to an integer, with its sign.
func wholeSigned(v float64) string {
	if v = math.Round(v); v == 0 {
		return "0"
	}
	return unit.Signed(v, 0)
}
