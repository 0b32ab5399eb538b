// Package tasks provides the panes of runs that work through a list of tasks: the list with
// the state of each task, and the losses of all of them over each other.
package tasks

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The pane of the list of tasks: its columns, its rows with their states, and cancelling a task.

// Table specifies the pane of the list.
var Table = pane.Spec{
	Name:  "task list",
	Shape: layout.Shape{Width: layout.Extent{Least: 40, Good: 76, Most: 130, Weight: 5}, Height: layout.Extent{Least: 9, Good: 10, Most: 24, Weight: 3}},
	Needs: listed,
	Late:  true,
	New:   func(h pane.Host) pane.Pane { return &table{Box: pane.Box{Title: "Tasks"}, host: h} },
}

func listed(r *profiles.RunInfo) bool { return r.Schema.Tasks }

// table lists the tasks, a row each.
type table struct {
	pane.Box
	host   pane.Host
	picked int // row of the cursor
	top    int // first row shown
}

// Cells returns the pane as it is on the screen.
func (p *table) Cells() *chart.Canvas { return p.Render(p.draw) }

// Hints returns the keys of the table.
func (p *table) Hints() []pane.Hint {
	hints := []pane.Hint{{Key: "↑↓", Does: "select"}}
	if p.cancels() {
		hints = append(hints, pane.Hint{Key: "x", Does: "cancel, or not"})
	}
	return hints
}

//go:embed explain.md
var explainMarkdown string

// explanations are the texts of the panes of tasks.
var explanations = pane.ParseExplanations(explainMarkdown)

// Explain describes the columns.
func (p *table) Explain() []string {
	about := explanations.Of("tasks")
	if p.cancels() {
		about = append(about, explanations.Of("cancel")...)
	}
	return about
}

// cancels reports whether tasks can be cancelled from this screen.
func (p *table) cancels() bool {
	return p.Snap != nil && p.Snap.Tasks != nil && p.Snap.Tasks.Cancel != "" && p.host.Tunable() &&
		!words.Ended(p.Snap.State)
}

// Press moves the cursor; x cancels a task.
func (p *table) Press(key string) bool {
	if p.Snap == nil || p.Snap.Tasks == nil {
		return false
	}
	last := len(p.Snap.Tasks.List) - 1
	switch key {
	case "up":
		p.picked--
	case "down":
		p.picked++
	case "pgup":
		p.picked -= 10
	case "pgdown":
		p.picked += 10
	case "home":
		p.picked = 0
	case "end":
		p.picked = last
	case "x":
		if !p.cancels() {
			return false
		}
		p.cancel()
	default:
		return false
	}
	p.picked = max(min(p.picked, last), 0)
	p.Stale = true
	return true
}

// cancel cancels the selected task, or takes that back before its turn.
func (p *table) cancel() {
	t := p.Snap.Tasks
	task := &t.List[p.picked]
	number := int64(p.picked + 1)
	set, _ := p.host.Wanted().Value(t.Cancel).([]int64)
	list := slices.Clone(set)
	if i := slices.Index(list, number); i >= 0 {
		list = slices.Delete(list, i, i+1)
	} else {
		switch task.State {
		case profiles.TaskWaiting, profiles.TaskRunning:
		default:
			p.host.Say(fmt.Sprintf("task %d is %s", number, task.State))
			return
		}
		list = append(list, number)
		slices.Sort(list)
	}
	text := make([]string, len(list))
	for i, n := range list {
		text[i] = strconv.FormatInt(n, 10)
	}
	if err := p.host.Assign(t.Cancel, strings.Join(text, ",")); err != nil {
		p.host.Say(err.Error())
	}
}

// column is a column of the table.
type column struct {
	title string
	width int
	least int // width of the pane from which it is shown
	cell  func(t *profiles.Tasks, i int) (string, theme.Style)
}

// number formats a measurement; a dash if there is none.
func number(v float64, format func(float64) string) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strings.TrimSpace(format(v))
}

var columns = []column{
	{"rounds", 6, 70, func(t *profiles.Tasks, i int) (string, theme.Style) {
		return fmt.Sprintf("%d/%d", t.List[i].Done, t.Rounds), theme.Plain
	}},
	{"time", 8, 0, func(t *profiles.Tasks, i int) (string, theme.Style) {
		return number(t.List[i].Seconds, func(v float64) string { return unit.Seconds(v * 1e9) }), theme.Strong
	}},
	{"loss", 9, 64, func(t *profiles.Tasks, i int) (string, theme.Style) {
		return number(t.List[i].Loss, unit.Loss), theme.Plain
	}},
	{"samples/s", 9, 54, func(t *profiles.Tasks, i int) (string, theme.Style) {
		return number(t.List[i].PerSecond, func(v float64) string { return unit.Fixed(v, 7) }), theme.Plain
	}},
	{"speed-up", 8, 44, func(t *profiles.Tasks, i int) (string, theme.Style) { return speedUp(&t.List[i]) }},
	{"95 %", 14, 78, func(t *profiles.Tasks, i int) (string, theme.Style) {
		task := &t.List[i]
		if math.IsNaN(task.Low) || math.IsNaN(task.High) {
			return "–", theme.Faint
		}
		return fmt.Sprintf("[%.2f, %.2f]", task.Low, task.High), theme.Faint
	}},
}

// speedUp formats a speed-up, in the style of what it means.
func speedUp(t *profiles.Task) (string, theme.Style) {
	switch {
	case t.Baseline:
		return "baseline", theme.Faint
	case math.IsNaN(t.SpeedUp):
		return "–", theme.Faint
	}
	style := map[stats.Finding]theme.Style{stats.Above: theme.Good, stats.Below: theme.Bad,
		stats.Undecided: theme.Plain, stats.Within: theme.Plain}
	return fmt.Sprintf("%.2fx", t.SpeedUp), style[(stats.Claim{From: 1, To: 1}).Judge(t.Low, t.High)]
}

// Widths of the first columns: the number, the name, the state.
const (
	numberWidth = 3
	nameLeast   = 9
	stateWidth  = 11
)

// styleOf returns the style of a task: that of its number and of its curve.
func styleOf(task int) theme.Style { return theme.Phase1 + theme.Style(task%8) }

func (p *table) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	t := s.Tasks
	if t == nil || len(t.List) == 0 {
		pane.Message(c, "no task"+words.Yet(s))
		return "", theme.Faint
	}
	p.Aside(summary(t), theme.Faint)
	shown, taken := fitting(w)
	name := max(w-taken-numberWidth-1-stateWidth-1, nameLeast)
	y := 0
	if h >= 4 {
		x := numberWidth + 1 + name + 1 + stateWidth
		c.TextRight(numberWidth, 0, "#", theme.Faint)
		c.Text(numberWidth+1, 0, "task", theme.Faint)
		c.Text(numberWidth+1+name+1, 0, "state", theme.Faint)
		for _, col := range shown {
			x += 1 + col.width
			c.TextRight(x, 0, col.title, theme.Faint)
		}
		y++
	}
	p.picked = min(p.picked, len(t.List)-1)
	at := p.picked
	running := t.TaskOf(s.Unit)
	if !p.Focus && running >= 0 { // follow the running one
		at = running
	}
	rows := h - y
	p.top = max(min(p.top, at, len(t.List)-rows), at-rows+1, 0)
	for row := range min(rows, len(t.List)-p.top) {
		p.row(c, y+row, p.top+row, s, shown, name)
	}
	return p.note(s)
}

// fitting returns the columns that fit, and their width.
func fitting(w int) (shown []column, taken int) {
	left := w - numberWidth - 1 - nameLeast - 1 - stateWidth
	for _, col := range columns {
		if w >= col.least && left >= 1+col.width {
			shown = append(shown, col)
			left -= 1 + col.width
			taken += 1 + col.width
		}
	}
	return shown, taken
}

// row draws a task.
func (p *table) row(c *chart.Canvas, y, i int, s *profiles.Snapshot, shown []column, name int) {
	t := s.Tasks
	task := &t.List[i]
	c.TextRight(numberWidth, y, strconv.Itoa(i+1), styleOf(i))
	style := theme.Plain
	if p.Focus && i == p.picked {
		style = theme.Selected
	}
	label := task.Name
	if long := label + "  " + task.About + ", " + task.Device; chart.Width(long) <= name {
		label = long
	}
	c.Text(numberWidth+1, y, chart.Cut(label, name), style)
	x := numberWidth + 1 + name + 1
	state(c, x, y, i, s)
	x += stateWidth
	for _, col := range shown {
		x += 1 + col.width
		text, style := col.cell(t, i)
		c.TextRight(x, y, chart.Cut(text, col.width), style)
	}
}

// state draws the state of a task: of the running one, how far it is.
func state(c *chart.Canvas, x, y, i int, s *profiles.Snapshot) {
	task := &s.Tasks.List[i]
	styles := [...]theme.Style{profiles.TaskWaiting: theme.Faint, profiles.TaskRunning: theme.Current,
		profiles.TaskDone:   theme.Good,
		profiles.TaskFailed: theme.Bad, profiles.TaskCancelled: theme.Warn, profiles.TaskUnavailable: theme.Warn}
	if s.Tasks.TaskOf(s.Unit) == i && task.State == profiles.TaskRunning &&
		task.Iterations > 0 && !words.Ended(s.State) {
		share := min(float64(s.InUnit+1)/float64(task.Iterations), 1)
		const bar = 6
		c.Bar(x, y, bar, share*bar, theme.Current)
		c.TextRight(x+stateWidth, y, unit.Percent(share), theme.Current)
		return
	}
	c.Text(x, y, task.State.String(), styles[min(int(task.State), len(styles)-1)])
}

// summary counts the tasks by state.
func summary(t *profiles.Tasks) string {
	counts := map[profiles.TaskState]int{}
	for i := range t.List {
		counts[t.List[i].State]++
	}
	parts := []string{fmt.Sprintf("%d of %d done", counts[profiles.TaskDone], len(t.List))}
	for _, s := range []profiles.TaskState{profiles.TaskFailed, profiles.TaskCancelled, profiles.TaskUnavailable} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, " · ")
}

// note is the lower edge: why the selected task, or else the first one that failed, did not end
// well; otherwise what speed-ups compare.
func (p *table) note(s *profiles.Snapshot) (string, theme.Style) {
	t := s.Tasks
	why := func(i int) (string, theme.Style) {
		style := theme.Warn
		if t.List[i].State == profiles.TaskFailed {
			style = theme.Bad
		}
		return fmt.Sprintf("%d: %s", i+1, t.List[i].Why), style
	}
	if p.Focus && t.List[p.picked].Why != "" {
		return why(p.picked)
	}
	if p.Focus {
		task := &t.List[p.picked]
		return words.FittingOrLast(p.EdgeRoom(), fmt.Sprintf("%d: %s, %s", p.picked+1, task.About, task.Device),
			task.About), theme.Faint
	}
	for i := range t.List {
		if t.List[i].Why != "" {
			return why(i)
		}
	}
	return words.FittingOrLast(p.EdgeRoom(), "speed-up of the "+t.SpeedUps, t.SpeedUps), theme.Faint
}
