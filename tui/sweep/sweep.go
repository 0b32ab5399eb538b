// Package sweep is the screen of a sweep: its arms with their state, progress, speed, quality, difference from the
// reference and cost, and the runs of the selected one. It knows plain data only: whoever shows it reads the folder and
// opens a run.
package sweep

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	plan "prismtop/profiles/sweep"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/keys"
	"prismtop/tui/page"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
)

// The screen: what it shows, what it hears, and what its keys do.

// View is a sweep at a moment.
type View struct {
	Table *plan.Table
	Runs  [][]Run // of each arm of the table, by replicate
	Note  string  // what cannot be known, such as Slurm's answer; empty if nothing is wrong
	Over  bool    // no run is left
}

// Run is a replicate of an arm.
type Run struct {
	plan.Status
	Queued string // what Slurm says of it; empty for nothing
}

// Screen is the screen of a sweep. It may be shown again after a run was opened.
type Screen struct {
	*page.Page
	folder string
	read   func(context.Context) (*View, error)
	closes bool // by itself once no run is left

	view   *View
	err    error
	rows   []int // arms that the filter passes, in order
	arm    string
	run    int // replicate of the selected arm, counted from 0
	list   widget.List
	order  order
	back   bool
	filter string
	typing *widget.Input
	first  int

	chosen Choice
}

// Choice is a run to open.
type Choice struct {
	Arm, Replicate int // the replicate counts from 1; 0 for none
}

// New returns the screen of a folder. read returns what it holds, and may take its time;
// closes leaves the screen by itself once no run is left.
func New(folder string, read func(context.Context) (*View, error), closes bool, o page.Options) *Screen {
	s := &Screen{folder: folder, read: read, closes: closes}
	s.Page = page.New(s, o)
	return s
}

// Run shows the screen until the user leaves it, and returns the run to open. Errors are those of page.Page.
func (s *Screen) Run(ctx context.Context) (Choice, error) {
	s.chosen, s.typing = Choice{}, nil
	err := s.Page.Run(ctx)
	return s.chosen, err
}

// viewMsg delivers what the folder holds.
type viewMsg struct {
	view *View
	err  error
}

// period is the time between two looks at the folder.
const period = time.Second

// Begin starts to read the folder.
func (s *Screen) Begin(ctx context.Context) tea.Cmd {
	return func() tea.Msg {
		v, err := s.read(ctx)
		return viewMsg{v, err}
	}
}

// Hear takes what the folder holds, and reads it again.
func (s *Screen) Hear(msg tea.Msg) tea.Cmd {
	m, ok := msg.(viewMsg)
	if !ok {
		return nil
	}
	if s.err = m.err; m.view != nil {
		s.view = m.view
		s.arrange()
		if s.closes && m.view.Over {
			return s.Quit()
		}
	}
	ctx := s.Context()
	return func() tea.Msg {
		select {
		case <-time.After(period):
			v, err := s.read(ctx)
			return viewMsg{v, err}
		case <-ctx.Done():
			return nil
		}
	}
}

// order is a column by which arms are sorted.
type order uint8

const (
	byPlan order = iota
	byName
	byState
	byTime
	byQuality
	byDifference
	byCost
	orders
)

// String returns the order's name.
func (o order) String() string {
	return [...]string{"the plan", "name", "state", "time of an iteration", "quality",
		"difference from the reference", "cost"}[o]
}

// compare orders two arms; what is not known comes last.
func (s *Screen) compare(i, j int) int {
	a, b := &s.view.Table.Arms[i], &s.view.Table.Arms[j]
	known := func(x, y float64) int {
		if math.IsNaN(x) || math.IsNaN(y) {
			return cmp.Compare(number(math.IsNaN(x)), number(math.IsNaN(y)))
		}
		return cmp.Compare(x, y)
	}
	c := 0
	switch s.order {
	case byName:
		c = strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	case byState:
		c = cmp.Compare(urgency(a), urgency(b))
	case byTime:
		c = known(a.Each.Value, b.Each.Value)
	case byQuality:
		if s.view.Table.Metric.Less {
			c = known(a.Quality.Value, b.Quality.Value)
		} else {
			c = known(-a.Quality.Value, -b.Quality.Value)
		}
	case byDifference:
		c = known(a.Faster.Value, b.Faster.Value)
	case byCost:
		c = cmp.Compare(b.CPUSoFar, a.CPUSoFar)
	}
	return cmp.Or(c, cmp.Compare(i, j))
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// urgency orders states: what failed, what runs, what was interrupted, what waits, what is done.
func urgency(r *plan.Row) int {
	for i, s := range []plan.State{plan.Failed, plan.Running, plan.Interrupted, plan.Waiting} {
		if r.Counts[s] > 0 {
			return i
		}
	}
	return 4
}

// arrange filters and sorts the arms, and finds the selected one among them.
func (s *Screen) arrange() {
	words := strings.Fields(strings.ToLower(s.filter))
	s.rows = s.rows[:0]
	for i := range s.view.Table.Arms {
		r := &s.view.Table.Arms[i]
		text := strings.ToLower(r.Name + "\n" + stateText(r))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			s.rows = append(s.rows, i)
		}
	}
	slices.SortFunc(s.rows, func(i, j int) int {
		if s.back {
			i, j = j, i
		}
		return s.compare(i, j)
	})
	at := slices.IndexFunc(s.rows, func(i int) bool { return s.view.Table.Arms[i].Name == s.arm })
	if at < 0 {
		at = min(s.list.At, len(s.rows)-1)
	}
	s.list.Follow(max(at, 0), len(s.rows))
	s.follow()
}

// follow notes the selected arm; of a new one its run that goes on, or else the first.
func (s *Screen) follow() {
	i := s.selected()
	if i < 0 {
		return
	}
	if name := s.view.Table.Arms[i].Name; name != s.arm {
		s.arm = name
		s.run = max(slices.IndexFunc(s.view.Runs[i], func(r Run) bool { return r.State == plan.Running }), 0)
	}
	s.run = min(s.run, len(s.view.Runs[i])-1)
}

// selected returns the index of the selected arm, −1 for none.
func (s *Screen) selected() int {
	if s.view == nil || s.list.At < 0 || s.list.At >= len(s.rows) {
		return -1
	}
	return s.rows[s.list.At]
}

// open leaves for the selected run.
func (s *Screen) open() tea.Cmd {
	i := s.selected()
	if i < 0 {
		return nil
	}
	switch r := &s.view.Runs[i][s.run]; {
	case r.State == plan.Waiting:
		s.Complain("it has not begun")
		return nil
	case len(r.Recordings) == 0 && r.Session == "":
		s.Complain("it has no recording yet")
		return nil
	}
	s.chosen = Choice{i, s.run + 1}
	return s.Quit()
}

// Title names the page.
func (s *Screen) Title() string {
	title := "sweep " + visible.Text(filepath.Base(s.folder))
	if s.view != nil {
		title += " · " + s.view.Table.Title()
	}
	return title
}

// Status says what is wrong, or the order.
func (s *Screen) Status() []widget.Piece {
	switch {
	case s.err != nil:
		return []widget.Piece{{Text: "cannot be read", Style: theme.Bad}}
	case s.view == nil:
		return []widget.Piece{{Text: "reading …", Style: theme.Pending}}
	case s.order != byPlan:
		return []widget.Piece{{Text: "by " + s.order.String(), Style: theme.Faint}}
	}
	return nil
}

// Tables returns the bindings.
func (s *Screen) Tables() []page.Table {
	return []page.Table{s.Bind(keys.Sweep, map[profiles.Action]func() tea.Cmd{
		"sweep open": s.open,
		"sweep run": func() tea.Cmd {
			if i := s.selected(); i >= 0 {
				s.run = (s.run + 1) % len(s.view.Runs[i])
			}
			return nil
		},
		"sweep filter": func() tea.Cmd {
			s.typing = widget.NewInput(s.filter)
			return nil
		},
		"sweep sort": func() tea.Cmd {
			s.order, s.back = (s.order+1)%orders, false
			s.sorted()
			s.Say("sorted by " + s.order.String())
			return nil
		},
		"sweep reverse": func() tea.Cmd {
			s.back = !s.back
			s.sorted()
			return nil
		},
	})}
}

func (s *Screen) sorted() {
	if s.view != nil {
		s.arrange()
	}
}

// Prompt returns the keys while the filter is typed.
func (s *Screen) Prompt() []widget.KeyGroup {
	if s.typing == nil {
		return nil
	}
	return []widget.KeyGroup{widget.Hint("enter", "keeps the filter", 0), widget.Hint("esc", "clears it", 0),
		widget.Hint("↑ ↓", "select", 1)}
}

// Press handles the keys of the list and of the filter.
func (s *Screen) Press(key string) (tea.Cmd, bool) {
	switch {
	case s.typing != nil && (key == "home" || key == "end"):
	case s.list.Move(key):
		s.follow()
		return nil, true
	}
	switch {
	case s.typing != nil:
		switch key {
		case "enter":
			s.typing = nil
		case "esc":
			s.typing, s.filter = nil, ""
		default:
			s.typing.Press(key)
			s.filter = s.typing.Value()
		}
		s.sorted()
		return nil, true
	case key == "esc" && s.filter != "":
		s.filter = ""
		s.sorted()
		return nil, true
	}
	return nil, false
}

// Paste pastes into the filter.
func (s *Screen) Paste(text string) {
	if s.typing != nil {
		s.typing.Paste(text)
		s.filter = s.typing.Value()
		s.sorted()
	}
}

// Dialog returns nil: there are no dialogs.
func (s *Screen) Dialog(int, int) *chart.Canvas { return nil }

// Click selects an arm, and opens its run if it is a double click.
func (s *Screen) Click(_, y int, twice bool) tea.Cmd {
	if at := s.first + y - firstRow; y >= firstRow && at < len(s.rows) {
		s.list.Select(at, len(s.rows))
		s.follow()
		if twice {
			return s.open()
		}
	}
	return nil
}

// Wheel moves the selection.
func (s *Screen) Wheel(step string) {
	s.list.Move(step)
	s.follow()
}

// Notes explain the columns.
func (s *Screen) Notes() []string {
	return []string{
		"A row is an arm, over its replicates. it/s is the sum of the runs that go on, ms the median time of an " +
			"iteration, the difference that of its time from the reference arm's, with an interval of 95 % where two " +
			"replicates or more are done. CPU is the processor time of all its runs so far. • marks the arms of the " +
			"front: no other takes less time for better quality.",
		fmt.Sprintf("Runs are read from the folder once a second; what they write there is at most %s old. Slurm is "+
			"asked twice a minute.", plan.Beat),
	}
}
