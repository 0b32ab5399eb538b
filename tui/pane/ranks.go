package pane

import (
	"fmt"
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

// Ranks specifies the pane of the ranks that train together.
var Ranks = Spec{
	Name:  "ranks",
	Shape: layout.Shape{Width: layout.Extent{Least: 36, Good: 60, Most: 90, Weight: 2}, Height: layout.Extent{Least: 4, Good: 6, Most: 20, Weight: 1}, Listing: true},
	Needs: func(r *profiles.RunInfo) bool { return r.Ranks > 1 },
	New:   func(Host) Pane { return &ranks{Box: Box{Title: "Ranks"}} },
}

// ranks lists the ranks, and says which of them the others wait for.
type ranks struct {
	Box
	widget.Scroll
}

// Cells returns the pane as it is on the screen.
func (p *ranks) Cells() *chart.Canvas { return p.Render(p.draw) }

// Hints returns the keys that scroll.
func (p *ranks) Hints() []Hint { return []Hint{{"↑↓", "scroll"}} }

// Explain describes the columns.
func (p *ranks) Explain() []string { return explanations.Of("ranks") }

// Press scrolls.
func (p *ranks) Press(key string) bool {
	if !p.Scroll.Move(key) {
		return false
	}
	p.Stale = true
	return true
}

// rankColumn is a column of the table: its title, width, the pane's least width for it, and its text.
type rankColumn struct {
	title string
	width int
	least int
	cell  func(r *profiles.Rank) string
}

var rankColumns = []rankColumn{
	{"behind", 6, 0, func(r *profiles.Rank) string { return strconv.FormatInt(r.Behind, 10) }},
	{"step ms", 8, 56, func(r *profiles.Rank) string { return milliseconds(r.Time) }},
	{"own ms", 8, 0, func(r *profiles.Rank) string { return milliseconds(r.Local) }},
	{"exchange", 8, 48, func(r *profiles.Rank) string { return milliseconds(r.Exchange) }},
	{"of it wait", 10, 0, func(r *profiles.Rank) string { return milliseconds(r.Wait) }},
}

func milliseconds(nanos float64) string {
	if nanos <= 0 {
		return "–"
	}
	return strings.TrimSpace(unit.Milliseconds(nanos))
}

func (p *ranks) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	r := s.Ranks
	if r == nil || len(r.List) == 0 {
		Message(c, "no rank has reported a step"+words.Yet(s))
		return "", theme.Faint
	}
	y := 0
	const first = 5
	if h >= 3 {
		c.TextRight(4, 0, "rank", theme.Faint)
		eachRankColumn(w, first, func(x int, col rankColumn) { c.TextRight(x, 0, col.title, theme.Faint) })
		y++
	}
	from, to := p.Fit(len(r.List), h-y)
	for i := range r.List[from:to] {
		rank := &r.List[from+i]
		style, end := theme.Plain, first
		switch {
		case rank.Gone:
			style = theme.Bad
		case rank.Rank == r.Slow:
			style = theme.Warn
		}
		c.TextRight(4, y+i, strconv.Itoa(rank.Rank), theme.Strong)
		if rank.Gone {
			c.Text(first+1, y+i, chart.Cut(rank.State, w-first-1), style)
			continue
		}
		eachRankColumn(w, first, func(x int, col rankColumn) { end = x; c.TextRight(x, y+i, col.cell(rank), style) })
		switch {
		case rank.Rank == r.Slow && w-end > 12:
			c.Text(end+2, y+i, "waited for", theme.Warn)
		case rank.State != "training":
			c.Text(end+2, y+i, chart.Cut(rank.State, max(0, w-end-2)), theme.Faint)
		}
	}
	return chart.Cut(ranksSay(r), max(0, w-2)), ranksStyle(r)
}

// eachRankColumn calls draw with the right end of each column that fits.
func eachRankColumn(w, x int, draw func(x int, col rankColumn)) {
	for _, col := range rankColumns {
		if w < col.least || x+1+col.width > w {
			continue
		}
		x += 1 + col.width
		draw(x, col)
	}
}

// ranksSay is the sentence below the table.
func ranksSay(r *profiles.Ranks) string {
	switch {
	case r.Locked != "":
		return "settings are locked: " + r.Locked
	case r.Slow >= 0:
		in := ""
		if r.Phase != "" {
			in = " in " + r.Phase
		}
		return fmt.Sprintf("rank %d is waited for: %s more a step%s [%s, %s]", r.Slow,
			strings.TrimSpace(unit.Milliseconds(r.Excess))+" ms", in,
			strings.TrimSpace(unit.Milliseconds(r.Low)), strings.TrimSpace(unit.Milliseconds(r.High)))
	case r.World == 1:
		return "the others have left: one rank trains alone"
	case r.Steps == 0:
		return ""
	}
	return fmt.Sprintf("no rank is shown to be slower than the others in %s", unit.Plural(r.Steps, "step", "steps"))
}

func ranksStyle(r *profiles.Ranks) theme.Style {
	if r.Locked != "" || r.Slow >= 0 {
		return theme.Warn
	}
	return theme.Faint
}
