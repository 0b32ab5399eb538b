package runs

import (
	"fmt"
	"slices"
	"strings"

	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// This file draws the table.

// Rows of the page's content: the frame, the headings, the runs.
const (
	headingRow = 1
	firstRow   = 2
)

// column is a column of the table. Columns with a higher rank are dropped first.
type column struct {
	title string
	w     int
	rank  int
	right bool
	order Order
	wide  int // its width where there is room; 0 for w
	text  func(r *Run) (string, theme.Style)
}

// nameColumn is the index of the column that takes the remaining width, and leastName its least width.
const (
	nameColumn = 1
	leastName  = 14
	mostName   = 60
)

// columns are the columns from left to right.
var columns = []column{
	{title: "when", w: 11, wide: 16, order: ByTime},
	{title: "name or preset", order: ByName},
	{title: "picture", w: 10, wide: 14, rank: 5, order: ByName},
	{title: "length", w: 8, rank: 1, right: true, order: ByLength, text: func(r *Run) (string, theme.Style) { return unit.Clock(r.Length), theme.Plain }},
	{title: "iterations", w: 10, rank: 4, right: true, order: ByIterations, text: func(r *Run) (string, theme.Style) { return fmt.Sprint(r.Iterations), theme.Plain }},
	{title: "ms", w: 6, rank: 1, right: true, order: ByMedian, text: func(r *Run) (string, theme.Style) { return r.iterationTime(), theme.Strong }},
	{title: "quality", w: 8, wide: 14, rank: 3, right: true, order: ByQuality},
	{title: "size", w: 7, rank: 3, right: true, order: BySize},
	{title: "state", w: 10, rank: 0, order: ByState},
}

// place is where a column is drawn.
type place struct {
	*column
	x, w int
}

// columnGap is the space between columns, and markWidth that of the marks before them.
const (
	columnGap = 1
	markWidth = 3
)

// longest are the lengths of the longest name and of the longest picture's name in the table.
type longest struct{ name, picture int }

// mostPicture is the largest width of the column of pictures.
const mostPicture = 26

// longest measures the rows.
func (t *Table) longest() (most longest) {
	for _, r := range t.rows {
		most.name = max(most.name, chart.Width(visible.Text(r.Label())))
		most.picture = max(most.picture, chart.Width(visible.Text(r.Object)))
	}
	return most
}

// places fits the columns into w cells: those of a high rank are dropped, the rest get their wide widths
// if there is room, and the names take what is left; of what none of them needs, pictures take what they need.
func (t *Table) places(w int) []place {
	all := places(w)
	most := t.longest()
	if i := slices.IndexFunc(all, func(p place) bool { return p.title == "picture" }); i == nameColumn+1 {
		spare := min(all[nameColumn].w-max(most.name, leastName), min(most.picture, mostPicture)-all[i].w)
		if spare > 0 {
			all[nameColumn].w -= spare
			all[i].w += spare
			all[i].x -= spare
		}
	}
	return all
}

func places(w int) []place {
	for rank := 5; rank >= 0; rank-- {
		for _, wide := range []bool{true, false} {
			if p, name := placesOf(w, rank, wide); name >= leastName && (!wide || name >= 24) || rank == 0 && !wide {
				return p
			}
		}
	}
	return nil
}

// placesOf places the columns up to a rank; name is the width left for names.
func placesOf(w, rank int, wide bool) (all []place, name int) {
	name = w - markWidth
	for i := range columns {
		c := &columns[i]
		if c.rank > rank {
			continue
		}
		p := place{column: c, w: c.w}
		if wide && c.wide > 0 {
			p.w = c.wide
		}
		if len(all) > 0 {
			name -= columnGap
		}
		name -= p.w
		all = append(all, p)
	}
	name = min(name, mostName)
	all[nameColumn].w = max(name, 0)
	x := markWidth
	for i := range all {
		all[i].x = x
		x += all[i].w + columnGap
	}
	return all, name
}

// sortAt sorts by the column of a heading, or reverses the order if it is sorted by it.
func (t *Table) sortAt(x int) {
	for _, p := range t.places(t.width) {
		if x-2 >= p.x && x-2 < p.x+p.w {
			t.back = t.order == p.order && !t.back
			t.order = p.order
			t.arrange()
			t.Say("sorted by " + t.order.String())
		}
	}
}

// Rows with all of the selected run, the line above them included: leastDetails on a page with at least
// detailsFrom rows, tallDetails with at least tallFrom, and up to mostDetails where the list leaves room.
const (
	leastDetails = 3
	detailsFrom  = 12
	tallDetails  = 4
	tallFrom     = 20
	mostDetails  = 8
)

// detailRows returns the number of those rows on a page of h rows with n runs. It does not depend on the
// selected run, so that nothing moves.
func detailRows(h, n int) int {
	least := 0
	switch {
	case h >= tallFrom:
		least = tallDetails
	case h >= detailsFrom:
		least = leastDetails
	}
	if spare := h - firstRow - 1 - n; least > 0 {
		return max(least, min(spare, mostDetails))
	}
	return 0
}

// Draw draws the frame, the table and the selected run.
func (t *Table) Draw(c *chart.Canvas) {
	w, h := c.Size()
	c.Frame(theme.Border)
	c.Text(2, 0, chart.Cut(" "+visible.Text(t.source.Folder())+" ", w-4), theme.Title)
	inner := c.Sub(2, 1, w-4, h-2)
	t.width = w - 4
	room := h - 2 - 1
	if n := detailRows(h, len(t.rows)); n > 0 {
		room -= n
		details := inner.Sub(0, h-2-n, w-4, n)
		t.details(&details)
	}
	t.headings(&inner)
	list := inner.Sub(0, 1, w-4, room)
	t.first, t.last = t.list.Fit(len(t.rows), room)
	for i := t.first; i < t.last; i++ {
		t.row(&list, i-t.first, i)
	}
	if len(t.rows) == 0 {
		t.empty(&list)
	}
	t.edge(c)
}

// shown returns the rows on the screen.
func (t *Table) shown() (first, last int) { return t.first, t.last }

// edge writes the filter and the number of hidden rows into the frame's lower edge.
func (t *Table) edge(c *chart.Canvas) {
	w, h := c.Size()
	note := t.list.Note("above", "below")
	if note != "" {
		c.TextRight(w-2, h-1, " "+note+" ", theme.Faint)
	}
	room := w - 4 - chart.Width(note) - 4
	switch {
	case t.typing != nil:
		x := c.Text(2, h-1, " / ", theme.Key)
		c.Set(t.typing.Draw(c, x, h-1, max(room-4, 8)), h-1, ' ', theme.Plain)
	case t.filter != "":
		x := c.Text(2, h-1, " / ", theme.Key)
		c.Text(x, h-1, chart.Cut(visible.Text(t.filter)+" ", max(room-4, 8)), theme.Strong)
	}
}

// headings draws the names of the columns; that of the order is marked.
func (t *Table) headings(c *chart.Canvas) {
	w, _ := c.Size()
	for _, p := range t.places(w) {
		title, style := p.title, theme.Faint
		if p.order == t.order && !(p.title == "picture") {
			mark := "↓"
			if t.back {
				mark = "↑"
			}
			title, style = title+mark, theme.Title
		}
		if p.right {
			c.TextRight(p.x+p.w, 0, chart.Cut(title, p.w), style)
		} else {
			c.Text(p.x, 0, chart.Cut(title, p.w), style)
		}
	}
}

// row draws row i of the table. A file that cannot be read has its reason in place of the numbers.
func (t *Table) row(c *chart.Canvas, y, i int) {
	r := t.rows[i]
	w, _ := c.Size()
	at := t.places(w)
	if t.marked[r.Path] {
		c.Text(1, y, "●", theme.Good)
	}
	if i == t.list.At {
		c.Text(0, y, "▸", theme.Key)
	}
	pictured := len(at) > 2 && at[2].title == "picture"
	for n, p := range at {
		text, style := t.cell(r, &p, pictured)
		if r.State == Unread && n > nameColumn && p.title != "size" && p.title != "state" {
			continue
		}
		text = chart.Cut(text, p.w)
		if p.right {
			c.TextRight(p.x+p.w, y, text, style)
		} else {
			c.Text(p.x, y, text, style)
		}
	}
	if r.State == Unread && len(at) > nameColumn+1 {
		from := at[nameColumn+1].x
		to := w
		for _, p := range at {
			if p.title == "size" || p.title == "state" {
				to = min(to, p.x-columnGap)
			}
		}
		c.Text(from, y, chart.Cut(visible.Text(r.Err), to-from), theme.Bad)
	}
	if i == t.list.At {
		c.Restyle(at[nameColumn].x, y, at[nameColumn].w, theme.Selected)
	}
}

// cell returns the text of a column.
func (t *Table) cell(r *Run, p *place, pictured bool) (string, theme.Style) {
	if p.text != nil {
		return p.text(r)
	}
	switch p.title {
	case "when":
		if p.w >= 16 {
			return r.Began.Format("2006-01-02 15:04"), theme.Faint
		}
		return r.Began.Format("01-02 15:04"), theme.Faint
	case "picture":
		return visible.Text(r.Object), theme.Plain
	case "quality":
		return visible.Text(r.quality(p.w)), theme.Plain
	case "size":
		return r.size(), theme.Plain
	case "state":
		return r.StateText(), stateStyle(r)
	}
	name := visible.Text(r.Label())
	if !pictured && r.Object != "" && r.Object != r.Label() {
		name += " · " + visible.Text(r.Object)
	}
	return name, theme.Plain
}

// stateStyle returns the colour of a state.
func stateStyle(r *Run) theme.Style {
	switch {
	case r.State == Unread, r.End == "failed":
		return theme.Bad
	case r.State == Running:
		return theme.Good
	case r.State == Killed, r.State == CutShort:
		return theme.Warn
	}
	return theme.Plain
}

// empty says why there is no row.
func (t *Table) empty(c *chart.Canvas) {
	text := "no run was recorded here"
	switch {
	case t.err != nil:
		text = t.err.Error()
	case !t.begun:
		text = "reading the folder …"
	case t.filter != "":
		text = "no run matches the filter: esc clears it"
	}
	w, h := c.Size()
	lines := words.Wrap(visible.Text(text), w)
	for i, l := range lines[:min(len(lines), h)] {
		c.Text(max(0, (w-chart.Width(l))/2), max(0, h/2-1)+i, l, theme.Faint)
	}
}

// paragraph is a part of the details, of facts between which it is wrapped.
type paragraph struct {
	facts []string
	style theme.Style
}

// factGap stands between two facts.
const factGap = " · "

// wrap returns the lines of a paragraph. A fact is wrapped itself only if it takes more than a line.
func (p *paragraph) wrap(w int) (lines []string) {
	line := ""
	for _, f := range p.facts {
		switch {
		case line == "":
			line = f
		case chart.Width(line+factGap+f) <= w-chart.Width(factGap):
			line += factGap + f
		default:
			lines = append(lines, words.Wrap(line+strings.TrimRight(factGap, " "), w)...)
			line = f
		}
	}
	return append(lines, words.Wrap(line, w)...)
}

// details draws all of the selected run below a line, wrapped as far as there is room.
func (t *Table) details(c *chart.Canvas) {
	w, h := c.Size()
	c.Fill(0, 0, w, 1, '╌', theme.Border)
	r := t.selected()
	if r == nil {
		return
	}
	y := 1
	all := t.about(r, w, h-1)
	for i, p := range all {
		lines := p.wrap(w)
		if room := h - y - (len(all) - 1 - i); len(lines) > room { // each of the others has a row
			lines = append(lines[:room-1:room-1], chart.Cut(strings.Join(lines[room-1:], " "), w))
		}
		for _, l := range lines {
			c.Text(0, y, l, p.style)
			y++
		}
	}
}

// about returns all of a run for rows of w cells: its numbers, its state with the reason, and its note.
func (t *Table) about(r *Run, w, rows int) []paragraph {
	if r.State == Unread {
		return []paragraph{{[]string{visible.Text(r.File), r.size()}, theme.Plain},
			{[]string{visible.Text(r.Err)}, theme.Bad}}
	}
	facts := []string{r.File}
	if r.Name != "" && r.Preset != "" {
		facts = append(facts, r.Name, "preset "+r.Preset)
	}
	facts = append(facts, r.Object, unit.Clock(r.Length), unit.Plural(int(r.Iterations), "iteration", "iterations"))
	if m := r.iterationTime(); m != "–" {
		facts = append(facts, m+" ms")
	}
	facts = append(facts, r.quality(w), r.size())
	var shown []string
	for _, f := range facts {
		if f != "" {
			shown = append(shown, visible.Text(f))
		}
	}
	state, style := r.StateText(), stateStyle(r)
	if r.Err != "" {
		state, style = state+": "+visible.Text(words.FirstLine(r.Err)), theme.Bad
	}
	all := []paragraph{{shown, theme.Plain}, {[]string{state}, style}}
	switch note := visible.Text(r.Note); {
	case note != "" && rows > len(all):
		all = append(all, paragraph{[]string{note}, theme.Faint})
	case note != "":
		all[1].facts = append(all[1].facts, note)
	}
	return all
}
