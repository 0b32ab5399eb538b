package sweep

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"prismtop/profiles/stats"
	plan "prismtop/profiles/sweep"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// This file draws the arms and the runs of the selected one.

// firstRow is the row of the first arm, below the frame and the headings.
const firstRow = 2

// column is a column of the arms. Those with a higher rank are dropped first.
type column struct {
	title string
	w     int
	rank  int
	right bool
	text  func(s *Screen, r *plan.Row) (string, theme.Style)
}

// leastName and mostName bound the width of the column of names, which takes what is left.
const (
	leastName = 12
	mostName  = 60
	gap       = 2
)

var columns = []column{
	{title: "state", w: 16, rank: 0, text: func(_ *Screen, r *plan.Row) (string, theme.Style) {
		return stateText(r), stateStyle(r)
	}},
	{title: "progress", w: 8, rank: 2, right: true, text: func(_ *Screen, r *plan.Row) (string, theme.Style) {
		return progress(r), theme.Plain
	}},
	{title: "it/s", w: 6, rank: 4, right: true, text: func(_ *Screen, r *plan.Row) (string, theme.Style) {
		if math.IsNaN(r.Rate) {
			return "", theme.Plain
		}
		return fmt.Sprintf("%.4g", r.Rate), theme.Plain
	}},
	{title: "ms", w: 7, rank: 1, right: true, text: func(_ *Screen, r *plan.Row) (string, theme.Style) {
		form := func(v float64) string { return strings.TrimSpace(unit.Milliseconds(v * 1e6)) }
		if !r.Each.Known() && !math.IsNaN(r.NowMS) { // so far
			return form(r.NowMS), theme.Faint
		}
		return dash(r.Each, form), theme.Strong
	}},
	{title: "quality", w: 10, rank: 3, right: true, text: func(s *Screen, r *plan.Row) (string, theme.Style) {
		return dash(r.Quality, func(v float64) string {
			return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, s.view.Table.Metric.Unit))
		}), theme.Plain
	}},
	{title: "time against", w: 26, rank: 0, text: func(s *Screen, r *plan.Row) (string, theme.Style) {
		return s.view.Table.Faster(r), differenceStyle(r.Faster, false)
	}},
	{title: "quality against", w: 26, rank: 5, text: func(s *Screen, r *plan.Row) (string, theme.Style) {
		return s.view.Table.Better(r), differenceStyle(r.Better, !s.view.Table.Metric.Less)
	}},
	{title: "CPU", w: 8, rank: 4, right: true, text: func(_ *Screen, r *plan.Row) (string, theme.Style) {
		if r.CPUSoFar == 0 {
			return "–", theme.Faint
		}
		return unit.Clock(time.Duration(r.CPUSoFar * 1e9)), theme.Plain
	}},
	{title: "", w: 1, rank: 3, text: func(_ *Screen, r *plan.Row) (string, theme.Style) {
		if r.Front {
			return "•", theme.Good
		}
		return "", theme.Plain
	}},
}

// dash formats an estimate's value, or a dash.
func dash(e plan.Estimate, form func(float64) string) string {
	if !e.Known() {
		return "–"
	}
	return form(e.Value)
}

// stateText returns the state of an arm's runs: "done 2/2", "running 1/3", "failed 1/2".
func stateText(r *plan.Row) string {
	all := 0
	for _, n := range r.Counts {
		all += n
	}
	for _, s := range []plan.State{plan.Failed, plan.Running, plan.Interrupted} {
		if n := r.Counts[s]; n > 0 {
			return fmt.Sprintf("%s %d/%d", s, n, all)
		}
	}
	if n := r.Counts[plan.Done]; n > 0 {
		return fmt.Sprintf("done %d/%d", n, all)
	}
	return "waiting"
}

// stateStyle returns the colour of an arm's state.
func stateStyle(r *plan.Row) theme.Style {
	switch {
	case r.Counts[plan.Failed] > 0:
		return theme.Bad
	case r.Counts[plan.Running] > 0:
		return theme.Good
	case r.Counts[plan.Interrupted] > 0:
		return theme.Warn
	case r.Counts[plan.Done] > 0:
		return theme.Plain
	}
	return theme.Faint
}

// differenceStyle returns the colour of a difference; more says that more is better.
func differenceStyle(d plan.Difference, more bool) theme.Style {
	if !d.Sure() {
		return theme.Faint
	}
	switch {
	case d.Finding == stats.Above && more || d.Finding == stats.Below && !more:
		return theme.Good
	case d.Finding.Excluded():
		return theme.Bad
	}
	return theme.Plain
}

// progress returns how much of its iterations an arm has; their number where they have no limit.
func progress(r *plan.Row) string {
	if r.Most == 0 {
		if r.Iterations == 0 {
			return ""
		}
		return unit.Count(r.Iterations)
	}
	return fmt.Sprintf("%d %%", 100*min(r.Iterations, r.Most)/r.Most)
}

// fit returns the columns that fit into w cells, and the width of names.
func (s *Screen) fit(w int) (all []column, name int) {
	for rank := 6; ; rank-- {
		all, name = nil, w-3
		for _, c := range columns {
			if c.rank <= rank {
				all = append(all, c)
				name -= c.w + gap
			}
		}
		if name >= leastName || rank == 0 {
			return all, max(min(name, s.longest()), 1)
		}
	}
}

// longest returns the width of the longest name within its bounds.
func (s *Screen) longest() int {
	most := leastName
	for _, i := range s.rows {
		most = max(most, chart.Width(visible.Text(s.view.Table.Arms[i].Name)))
	}
	return min(most, mostName)
}

// Rows with the runs of the selected arm, the line above them included: as many as there are up to mostDetails, on a
// page of at least detailsFrom rows.
const (
	detailsFrom = 12
	mostDetails = 6
)

// Draw draws the frame, the arms and the runs of the selected one.
func (s *Screen) Draw(c *chart.Canvas) {
	w, h := c.Size()
	c.Frame(theme.Border)
	c.Text(2, 0, chart.Cut(" "+visible.Text(s.folder)+" ", w-4), theme.Title)
	inner := c.Sub(2, 1, w-4, h-2)
	if s.view == nil {
		s.empty(&inner)
		return
	}
	room := h - 3
	if h >= detailsFrom {
		n := min(s.view.Table.Replicates, mostDetails) + 1
		room -= n
		details := inner.Sub(0, h-2-n, w-4, n)
		s.details(&details)
	}
	cols, name := s.fit(w - 4)
	s.headings(&inner, cols, name)
	list := inner.Sub(0, 1, w-4, room)
	first, last := s.list.Fit(len(s.rows), room)
	s.first = first
	for i := first; i < last; i++ {
		s.row(&list, i-first, i, cols, name)
	}
	if len(s.rows) == 0 {
		s.empty(&list)
	}
	s.edge(c)
}

// headings draws the names of the columns.
func (s *Screen) headings(c *chart.Canvas, cols []column, name int) {
	c.Text(3, 0, "arm", theme.Faint)
	x := 3 + name + gap
	for _, col := range cols {
		title := col.title
		switch {
		case title == "quality" && s.view.Table.Metric.Name != "":
			title = s.view.Table.Metric.Name
		case strings.HasSuffix(title, " against"):
			title += " " + s.view.Table.Reference
		}
		title = chart.Cut(visible.Text(title), col.w)
		if col.right {
			c.TextRight(x+col.w, 0, title, theme.Faint)
		} else {
			c.Text(x, 0, title, theme.Faint)
		}
		x += col.w + gap
	}
}

// row draws arm i of the rows.
func (s *Screen) row(c *chart.Canvas, y, i int, cols []column, name int) {
	r := &s.view.Table.Arms[s.rows[i]]
	c.Text(3, y, chart.Cut(visible.Text(r.Name), name), theme.Plain)
	if i == s.list.At {
		c.Text(0, y, "▸", theme.Key)
		c.Restyle(3, y, name, theme.Selected)
	}
	x := 3 + name + gap
	for _, col := range cols {
		text, style := col.text(s, r)
		text = chart.Cut(visible.Text(text), col.w)
		if col.right {
			c.TextRight(x+col.w, y, text, style)
		} else {
			c.Text(x, y, text, style)
		}
		x += col.w + gap
	}
}

// details draws the runs of the selected arm below a line.
func (s *Screen) details(c *chart.Canvas) {
	w, h := c.Size()
	c.Fill(0, 0, w, 1, '╌', theme.Border)
	i := s.selected()
	if i < 0 {
		return
	}
	runs := s.view.Runs[i]
	top := max(0, min(s.run-(h-2), len(runs)-(h-1)))
	for y := 1; y < h && top+y-1 < len(runs); y++ {
		n := top + y - 1
		text, style := s.about(i, n)
		if n == s.run {
			c.Text(0, y, "▸", theme.Key)
		}
		c.Text(3, y, chart.Cut(visible.Text(text), w-3), style)
	}
}

// about returns all that is known of a run.
func (s *Screen) about(arm, replicate int) (string, theme.Style) {
	r := &s.view.Runs[arm][replicate]
	facts := []string{fmt.Sprintf("run %d", replicate+1), string(r.State)}
	style := theme.Plain
	switch r.State {
	case plan.Waiting:
		style = theme.Faint
		if r.Queued != "" {
			facts = append(facts, strings.ToLower(r.Queued))
		}
		return strings.Join(facts, " · "), style
	case plan.Failed:
		style = theme.Bad
		facts[1] += ": " + words.FirstLine(r.Error)
	case plan.Running:
		style = theme.Good
	case plan.Interrupted:
		style = theme.Warn
		if r.Queued != "" {
			facts = append(facts, strings.ToLower(r.Queued))
		}
	}
	facts = append(facts, unit.Plural(int(r.Iterations), "iteration", "iterations"),
		unit.Clock(time.Duration(r.Seconds*1e9)))
	if r.MS != nil {
		facts = append(facts, strings.TrimSpace(unit.Milliseconds(1e6**r.MS))+" ms")
	}
	if r.Quality != nil {
		facts = append(facts, strings.TrimSpace(fmt.Sprintf("%s %.4g %s", r.QualityIs, *r.Quality, r.QualityUnit)))
	}
	if on := cmp.Or(r.Node, r.Host); on != "" {
		facts = append(facts, "on "+on)
	}
	if r.Job != "" {
		facts = append(facts, "job "+r.Job)
	}
	facts = append(facts, r.Changes...)
	if r.Again {
		facts = append(facts, "without a checkpoint, begins again")
	}
	if r.Attempt > 1 {
		facts = append(facts, fmt.Sprintf("start %d", r.Attempt))
	}
	if r.State == plan.Running && !r.At.IsZero() && time.Since(r.At) > 3*plan.Beat {
		facts = append(facts, "silent for "+unit.Clock(time.Since(r.At)))
	}
	return strings.Join(facts, " · "), style
}

// edge writes the filter, what is wrong, and the number of hidden rows into the frame's lower edge.
func (s *Screen) edge(c *chart.Canvas) {
	w, h := c.Size()
	note := s.list.Note("above", "below")
	if note != "" {
		c.TextRight(w-2, h-1, " "+note+" ", theme.Faint)
	}
	room := w - 8 - chart.Width(note)
	switch {
	case s.typing != nil:
		x := c.Text(2, h-1, " / ", theme.Key)
		c.Set(s.typing.Draw(c, x, h-1, max(room-4, 8)), h-1, ' ', theme.Plain)
	case s.filter != "":
		x := c.Text(2, h-1, " / ", theme.Key)
		c.Text(x, h-1, chart.Cut(visible.Text(s.filter)+" ", max(room-4, 8)), theme.Strong)
	case s.err != nil:
		c.Text(2, h-1, chart.Cut(" "+visible.Text(s.err.Error())+" ", room), theme.Bad)
	case s.view.Note != "":
		c.Text(2, h-1, chart.Cut(" "+visible.Text(s.view.Note)+" ", room), theme.Warn)
	}
}

// empty says why there is no row.
func (s *Screen) empty(c *chart.Canvas) {
	text := "no arm matches the filter: esc clears it"
	switch {
	case s.err != nil:
		text = s.err.Error()
	case s.view == nil:
		text = "reading the folder …"
	}
	w, h := c.Size()
	lines := words.Wrap(visible.Text(text), w)
	for i, l := range lines[:min(len(lines), h)] {
		c.Text(max(0, (w-chart.Width(l))/2), max(0, h/2-1)+i, l, theme.Faint)
	}
}
