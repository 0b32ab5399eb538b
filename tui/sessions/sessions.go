// Package sessions is the list of runs that go on on this machine, from which one is shown. It knows plain
// data only: whoever shows it finds the runs.
package sessions

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/keys"
	"prismtop/tui/page"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// Row is a session as texts. Err says why it does not answer; then it has an ID and a state only.
type Row struct {
	ID, State, Object, Progress, Running, Screens, Operator string
	Err                                                     string
}

// List is the list.
type List struct {
	*page.Page
	who  string // is shown it
	find func(context.Context) []Row

	begun  bool
	rows   []Row
	list   widget.List
	first  int // row on the screen
	chosen string
}

// New returns a list of what find returns, which may take its time. who names the user, in the header.
func New(who string, find func(context.Context) []Row, o page.Options) *List {
	l := &List{who: who, find: find}
	l.Page = page.New(l, o)
	return l
}

// Run shows the list until the user leaves it, and returns the ID of the session to show; empty for none.
// Errors are those of page.Page.
func (l *List) Run(ctx context.Context) (id string, err error) {
	l.chosen = ""
	err = l.Page.Run(ctx)
	return l.chosen, err
}

// foundMsg delivers the sessions.
type foundMsg []Row

// period is the time between two looks at the sessions.
const period = time.Second

// Begin starts to look for sessions.
func (l *List) Begin(ctx context.Context) tea.Cmd {
	return func() tea.Msg { return foundMsg(l.find(ctx)) }
}

// Hear handles what was found, and looks again.
func (l *List) Hear(msg tea.Msg) tea.Cmd {
	found, ok := msg.(foundMsg)
	if !ok {
		return nil
	}
	at := l.selected()
	l.begun, l.rows = true, found
	if i := slices.IndexFunc(l.rows, func(r Row) bool { return r.ID == at }); i >= 0 {
		l.list.Follow(i, len(l.rows))
	}
	ctx := l.Context()
	return func() tea.Msg {
		select {
		case <-time.After(period):
			return foundMsg(l.find(ctx))
		case <-ctx.Done():
			return nil
		}
	}
}

// selected returns the ID of the selected session; empty for none.
func (l *List) selected() string {
	if l.list.At >= len(l.rows) {
		return ""
	}
	return l.rows[l.list.At].ID
}

// open leaves the list for the selected session.
func (l *List) open() tea.Cmd {
	if l.selected() == "" {
		return nil
	}
	if why := l.rows[l.list.At].Err; why != "" {
		l.Complain("it cannot be shown: " + why)
		return nil
	}
	l.chosen = l.selected()
	return l.Quit()
}

// Title names the page.
func (l *List) Title() string { return "sessions" }

// Status names the user.
func (l *List) Status() []widget.Piece {
	return []widget.Piece{{Text: visible.Text(l.who), Style: theme.Faint}}
}

// Tables returns the bindings.
func (l *List) Tables() []page.Table {
	return []page.Table{l.Bind(keys.Sessions, map[profiles.Action]func() tea.Cmd{"sessions show": l.open})}
}

// Prompt returns nil: there are no dialogs.
func (l *List) Prompt() []widget.KeyGroup { return nil }

// Press handles the keys of the list.
func (l *List) Press(key string) (tea.Cmd, bool) { return nil, l.list.Move(key) }

// Paste does nothing.
func (l *List) Paste(string) {}

// Dialog returns nil.
func (l *List) Dialog(int, int) *chart.Canvas { return nil }

// Notes says what the rows are.
func (l *List) Notes() []string {
	return []string{"The rows are the sessions on this machine, the oldest first."}
}

// Click selects a row, and shows it if it is a double click.
func (l *List) Click(_, y int, twice bool) tea.Cmd {
	if at := l.first + y - 2; y >= 2 && at < len(l.rows) {
		l.list.Select(at, len(l.rows))
		if twice {
			return l.open()
		}
	}
	return nil
}

// Wheel moves the selection.
func (l *List) Wheel(step string) { l.list.Move(step) }

// column is a column of the list, which is dropped on pages of less than from cells.
type column struct {
	title   string
	w, from int
	text    func(r *Row) string
}

var columns = []column{
	{"session", 8, 0, func(r *Row) string { return r.ID }},
	{"state", 10, 0, func(r *Row) string { return r.State }},
	{"picture", 12, 86, func(r *Row) string { return r.Object }},
	{"progress", 34, 0, func(r *Row) string { return r.Progress }},
	{"running", 9, 70, func(r *Row) string { return r.Running }},
	{"screens", 8, 104, func(r *Row) string { return r.Screens }},
	{"operated by", 40, 104, func(r *Row) string { return r.Operator }},
}

// Draw draws the rows.
func (l *List) Draw(c *chart.Canvas) {
	w, h := c.Size()
	c.Frame(theme.Border)
	c.Text(2, 0, " runs on this machine ", theme.Title)
	inner := c.Sub(2, 1, w-4, h-2)
	first, last := l.list.Fit(len(l.rows), h-3)
	l.first = first
	if note := l.list.Note("above", "below"); note != "" {
		c.TextRight(w-2, h-1, " "+note+" ", theme.Faint)
	}
	if len(l.rows) == 0 {
		l.empty(&inner)
		return
	}
	x := 2
	for _, col := range columns {
		if w < col.from {
			continue
		}
		inner.Text(x, 0, chart.Cut(col.title, min(col.w-1, w-4-x)), theme.Faint)
		for i := first; i < last; i++ {
			r := &l.rows[i]
			if r.Err != "" && x > 2+columns[0].w {
				continue
			}
			inner.Text(x, 1+i-first, chart.Cut(visible.Text(col.text(r)), min(col.w-1, w-4-x)), theme.Plain)
		}
		x += col.w
	}
	errorX := 2 + columns[0].w + columns[1].w
	for i := first; i < last; i++ {
		if err := l.rows[i].Err; err != "" {
			inner.Text(errorX, 1+i-first, chart.Cut(visible.Text(err), w-4-errorX), theme.Bad)
		}
		if i == l.list.At {
			inner.Text(0, 1+i-first, "▸", theme.Key)
			inner.Restyle(2, 1+i-first, columns[0].w-1, theme.Selected)
		}
	}
}

// empty says why there is no row.
func (l *List) empty(c *chart.Canvas) {
	text := "no session on this machine: prismtop run begins one, and it appears here"
	if !l.begun {
		text = "looking for sessions …"
	}
	w, h := c.Size()
	lines := words.Wrap(text, w)
	for i, line := range lines[:min(len(lines), h)] {
		c.Text(max(0, (w-chart.Width(line))/2), max(0, h/2-1)+i, line, theme.Faint)
	}
}
