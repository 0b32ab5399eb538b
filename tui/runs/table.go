package runs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles/unit"
	"prismtop/tui/page"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
)

// Action is what the user left the table for.
type Action uint8

// The actions.
const (
	Quit    Action = iota
	Open           // the replay of a run
	Compare        // runs, the oldest first
)

// Table is the table of runs. It may be shown again after an action: it keeps its rows, its cursor, what
// is marked, the filter and the order.
type Table struct {
	*page.Page
	source Source

	all    map[string]*Run // by path
	rows   []*Run          // those that the filter passes, in order
	at     string          // the path of the selected run
	marked map[string]bool
	list   widget.List
	first  int // rows on the screen
	last   int
	width  int // of the table in cells
	order  Order
	back   bool // the order is reversed
	filter string
	typing *widget.Input // of the filter; nil if it is not being typed
	ask    *question     // the open dialog; nil for none

	begun       bool // the first update has arrived
	files, read int
	err         error
	exporting   string             // the run being exported; empty for none
	stop        context.CancelFunc // stops the export

	action Action
	paths  []string
}

// New returns a table of what a source holds.
func New(source Source, o page.Options) *Table {
	t := &Table{source: source, all: map[string]*Run{}, marked: map[string]bool{}}
	t.Page = page.New(t, o)
	return t
}

// Run shows the table until the user leaves it, and returns for what: with paths, the run to open or those
// to compare. Errors are those of page.Page.
func (t *Table) Run(ctx context.Context) (Action, []string, error) {
	t.action, t.paths, t.ask, t.typing = Quit, nil, nil, nil
	err := t.Page.Run(ctx)
	return t.action, t.paths, err
}

// updateMsg delivers what changed; closed means that there is no more.
type updateMsg struct {
	Update
	from   <-chan Update
	closed bool
}

// doneMsg reports the end of an operation on files: what to say, or the error.
type doneMsg struct {
	said string
	err  error
	// gone are paths that need not be waited for.
	gone []string
	// exported marks the end of an export.
	exported bool
}

// Begin starts to watch the folder.
func (t *Table) Begin(ctx context.Context) tea.Cmd { return next(ctx, t.source.Watch(ctx)) }

// next waits for the next update.
func next(ctx context.Context, from <-chan Update) tea.Cmd {
	return func() tea.Msg {
		select {
		case u, ok := <-from:
			return updateMsg{u, from, !ok}
		case <-ctx.Done():
			return nil
		}
	}
}

// Hear handles updates and the ends of operations.
func (t *Table) Hear(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case updateMsg:
		if msg.closed {
			return nil
		}
		t.adopt(&msg.Update)
		return next(t.Context(), msg.from)
	case takenMsg:
		return t.heardTaken(msg)
	case doneMsg:
		for _, path := range msg.gone {
			t.drop(path)
		}
		if msg.exported {
			t.exporting = ""
		}
		t.arrange()
		switch {
		case msg.err != nil:
			t.Complain(strings.ReplaceAll(msg.err.Error(), "\n", "; "))
		default:
			t.Say(msg.said)
		}
	}
	return nil
}

// adopt takes an update. The selected run stays selected, and in its place on the screen where it can.
func (t *Table) adopt(u *Update) {
	if u.All {
		clear(t.all)
	}
	for i := range u.Runs {
		r := u.Runs[i]
		t.all[r.Path] = &r
	}
	for _, path := range u.Gone {
		t.drop(path)
	}
	for path := range t.marked {
		if u.All && t.all[path] == nil {
			delete(t.marked, path)
		}
	}
	t.files, t.read, t.err, t.begun = u.Files, u.Read, u.Err, true
	t.arrange()
}

// drop forgets a run.
func (t *Table) drop(path string) {
	delete(t.all, path)
	delete(t.marked, path)
}

// arrange filters and sorts the rows, and finds the selected run among them: the one next to it if it is
// no longer there.
func (t *Table) arrange() {
	words := strings.Fields(strings.ToLower(t.filter))
	t.rows = t.rows[:0]
	for _, r := range t.all {
		if r.matches(words) {
			t.rows = append(t.rows, r)
		}
	}
	slices.SortFunc(t.rows, func(a, b *Run) int {
		if t.back {
			a, b = b, a
		}
		return t.order.compare(a, b)
	})
	at := slices.IndexFunc(t.rows, func(r *Run) bool { return r.Path == t.at })
	if at < 0 {
		at = min(t.list.At, len(t.rows)-1)
	}
	t.list.Follow(max(at, 0), len(t.rows))
	t.follow()
}

// follow notes the path of the selected run.
func (t *Table) follow() {
	t.at = ""
	if r := t.selected(); r != nil {
		t.at = r.Path
	}
}

// selected returns the run under the cursor, nil if there is none.
func (t *Table) selected() *Run {
	if t.list.At < 0 || t.list.At >= len(t.rows) {
		return nil
	}
	return t.rows[t.list.At]
}

// chosen returns the marked runs, the oldest first, or the selected one if none is marked.
func (t *Table) chosen() []*Run {
	var runs []*Run
	for path := range t.marked {
		if r := t.all[path]; r != nil {
			runs = append(runs, r)
		}
	}
	if len(runs) == 0 {
		if r := t.selected(); r != nil {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b *Run) int { return ByTime.compare(b, a) })
	return runs
}

// Title names the page and sums up the folder.
func (t *Table) Title() string {
	if !t.begun {
		return "runs"
	}
	bytes := int64(0)
	for _, r := range t.all {
		bytes += r.Bytes
	}
	parts := []string{count(len(t.all)) + ", " + unit.Size(bytes)}
	if t.filter != "" {
		parts = append(parts, fmt.Sprintf("%d match", len(t.rows)))
	}
	if len(t.marked) > 0 {
		parts = append(parts, fmt.Sprintf("%d marked", len(t.marked)))
	}
	return strings.Join(parts, " · ")
}

// Status says how far the folder was read, or that a run is being exported.
func (t *Table) Status() []widget.Piece {
	switch {
	case t.err != nil:
		return []widget.Piece{{Text: "cannot be read", Style: theme.Bad}}
	case !t.begun || t.read < t.files:
		return []widget.Piece{{Text: fmt.Sprintf("reading %d of %d", t.read, t.files), Style: theme.Pending}}
	case t.exporting != "":
		return []widget.Piece{{Text: "exporting …", Style: theme.Pending}}
	}
	return []widget.Piece{{Text: "by " + t.order.String(), Style: theme.Faint}}
}

// leave ends the page for an action.
func (t *Table) leave(a Action, paths ...string) tea.Cmd {
	if t.exporting != "" {
		t.Complain(t.Keys.Say("an export is being written: {runs stop|a stop} stops it"))
		return nil
	}
	t.action, t.paths = a, paths
	return t.Quit()
}

// open leaves for the replay of the selected run.
func (t *Table) open() tea.Cmd {
	r := t.selected()
	switch {
	case r == nil:
		t.Say("there is no run to open")
		return nil
	case r.State == Unread:
		t.Complain("cannot be opened: " + r.Err)
		return nil
	}
	return t.leave(Open, r.Path)
}

// compare leaves for the comparison of the marked runs.
func (t *Table) compare() tea.Cmd {
	runs := t.chosen()
	if len(t.marked) == 1 { // and the one under the cursor
		if r := t.selected(); r != nil && !t.marked[r.Path] {
			runs = append(runs, r)
			slices.SortFunc(runs, func(a, b *Run) int { return ByTime.compare(b, a) })
		}
	}
	if len(runs) < 2 {
		t.Say("mark two runs or more with space: the oldest is the base")
		return nil
	}
	var paths []string
	for _, r := range runs {
		if r.State == Unread {
			t.Complain(r.File + " cannot be compared: " + r.Err)
			return nil
		}
		paths = append(paths, r.Path)
	}
	return t.leave(Compare, paths...)
}

// mark marks the selected run or takes its mark back, and goes on to the next.
func (t *Table) mark() tea.Cmd {
	r := t.selected()
	if r == nil {
		return nil
	}
	if t.marked[r.Path] {
		delete(t.marked, r.Path)
	} else {
		t.marked[r.Path] = true
	}
	t.list.Move("down")
	t.follow()
	return nil
}

// sortNext sorts by the next column, and reverse reverses the order.
func (t *Table) sortNext() tea.Cmd {
	t.order, t.back = (t.order+1)%numOrders, false
	t.arrange()
	t.Say("sorted by " + t.order.String())
	return nil
}

func (t *Table) reverse() tea.Cmd {
	t.back = !t.back
	t.arrange()
	return nil
}

// deadline is the longest time that naming or deleting may take; a disk that does not answer must not
// leave the user without one.
const deadline = 10 * time.Second
