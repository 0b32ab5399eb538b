// Package comparison shows recorded runs beside each other: a row for each number with its difference,
// its interval and its verdict, their curves over each other, the settings that differ, and warnings.
package comparison

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/compare"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/keys"
	"prismtop/tui/page"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
)

// Source makes the comparison and writes it.
type Source interface {
	// Compare reads the recordings and compares them, which may take seconds. A comparison with an
	// error lacks damaged parts.
	Compare(ctx context.Context) (*compare.Comparison, error)
	// Write writes the comparison as Markdown. It fails with fs.ErrExist if the file is there, unless
	// it may be replaced.
	Write(c *compare.Comparison, path string, replace bool) error
}

// Screen is the screen of a comparison.
type Screen struct {
	*page.Page
	source Source

	c     *compare.Comparison // nil until it is made
	err   error               // why it cannot be made
	side  int                 // the side beside the base
	shown filter
	items []item // of the list
	list  widget.List
	curve int // the curve on screen
	time  bool
	view  view
	w, h  int // of the page's content, as last drawn
	room  int // rows of the list

	write *writing // the open dialog; nil for none
}

// view is what a screen without room for both shows.
type view uint8

const (
	rowsView view = iota
	curvesView
)

// filter selects the rows.
type filter uint8

const (
	allRows     filter = iota
	judgedRows         // with a verdict: neither undecided nor not comparable
	differences        // that differ
	numFilters
)

// String returns what the filter shows.
func (f filter) String() string {
	return [...]string{"all rows", "rows with a verdict", "rows that differ"}[f]
}

// New returns the screen of what a source compares.
func New(source Source, o page.Options) *Screen {
	s := &Screen{source: source, side: 1}
	s.Page = page.New(s, o)
	return s
}

// Run shows the screen until the user leaves it. It returns why the comparison could not be made.
func (s *Screen) Run(ctx context.Context) error {
	return errors.Join(s.Page.Run(ctx), s.err)
}

// comparedMsg delivers the comparison, or why there is none; both if a part of it is damaged.
type comparedMsg struct {
	c   *compare.Comparison
	err error
}

// writtenMsg reports whether the Markdown was written.
type writtenMsg struct {
	path string
	err  error
}

// writing is the dialog that asks for a path.
type writing struct {
	input   *widget.Input
	replace bool // the file exists, and enter replaces it
	fault   string
	busy    bool
}

// Begin makes the comparison.
func (s *Screen) Begin(ctx context.Context) tea.Cmd {
	if s.c != nil {
		return nil
	}
	return func() tea.Msg {
		c, err := s.source.Compare(ctx)
		return comparedMsg{c, err}
	}
}

// Hear takes the comparison, and whether it was written.
func (s *Screen) Hear(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case comparedMsg:
		switch {
		case msg.c == nil && errors.Is(msg.err, context.Canceled): // the screen was left
		case msg.c == nil:
			s.err = msg.err
		default:
			s.c = msg.c
			s.arrange()
			if msg.err != nil {
				s.Complain(oneLine(msg.err))
			}
		}
	case writtenMsg:
		s.written(msg)
	}
	return nil
}

// oneLine returns an error on one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Title names the sides.
func (s *Screen) Title() string {
	if s.c == nil {
		return "comparison"
	}
	return visible.Text(s.c.Sides[s.side].Name) + " against " + visible.Text(s.c.Sides[0].Name)
}

// Status says which rows are shown.
func (s *Screen) Status() []widget.Piece {
	switch {
	case s.err != nil:
		return []widget.Piece{{Text: "not compared", Style: theme.Bad}}
	case s.c == nil:
		return []widget.Piece{{Text: "comparing …", Style: theme.Pending}}
	case s.shown != allRows:
		return []widget.Piece{{Text: s.shown.String(), Style: theme.Pending}}
	}
	return nil
}

// Tables returns the bindings.
func (s *Screen) Tables() []page.Table {
	return []page.Table{s.Bind(keys.Comparison, map[profiles.Action]func() tea.Cmd{
		"comparison rows": s.nextFilter, "comparison curves": s.nextCurve, "comparison axis": s.otherAxis,
		"comparison write": s.askPath,
	})}
}

// Press handles the keys of the list, of the sides and of the dialog.
func (s *Screen) Press(key string) (tea.Cmd, bool) {
	switch {
	case s.write != nil:
		return s.pressWriting(key), true
	case s.c == nil:
		return nil, false
	case s.list.Move(key):
		s.view = rowsView
		s.skipTitle(key == "up" || key == "pgup")
		return nil, true
	case key == "left" || key == "right":
		s.nextSide(key == "right")
		return nil, true
	}
	return nil, false
}

// skipTitle moves the selection off a title, which has nothing more to say.
func (s *Screen) skipTitle(up bool) {
	title := func(i int) bool { return s.items[i].row == nil && s.items[i].style == theme.Title }
	if !title(s.list.At) {
		return
	}
	if up && s.list.At > 0 {
		s.list.Move("up")
	} else {
		s.list.Move("down")
	}
}

// nextSide compares another side with the base.
func (s *Screen) nextSide(on bool) {
	n := len(s.c.Sides) - 1
	if n == 1 {
		s.Say("there are two sides only")
		return
	}
	step := n - 1
	if on {
		step = 1
	}
	s.side = (s.side-1+step)%n + 1
	s.arrange()
}

// nextFilter shows other rows.
func (s *Screen) nextFilter() tea.Cmd {
	if s.c != nil {
		s.shown = (s.shown + 1) % numFilters
		s.arrange()
		s.Say(s.shown.String())
	}
	return nil
}

// nextCurve shows the next curve; on a screen with room for one thing, the rows after the last.
func (s *Screen) nextCurve() tea.Cmd {
	switch {
	case s.c == nil || len(s.c.Curves) == 0:
		s.Say("nothing was recorded to draw")
	case s.view == rowsView && !s.roomy():
		s.view, s.curve = curvesView, 0
	case s.curve+1 < len(s.c.Curves):
		s.curve++
	default:
		s.view, s.curve = rowsView, 0
	}
	return nil
}

// otherAxis draws the curves over iterations or over time.
func (s *Screen) otherAxis() tea.Cmd {
	s.time = !s.time
	if !s.roomy() {
		s.view = curvesView
	}
	return nil
}

// askPath asks where to write the Markdown.
func (s *Screen) askPath() tea.Cmd {
	if s.c != nil {
		s.write = &writing{input: widget.NewInput("comparison.md")}
	}
	return nil
}

// pressWriting handles a key of the dialog.
func (s *Screen) pressWriting(key string) tea.Cmd {
	w := s.write
	switch key {
	case "esc":
		s.write = nil
	case "enter":
		path := strings.TrimSpace(w.input.Value())
		switch {
		case w.busy:
			return nil
		case path == "":
			w.fault = "the path is missing"
			return nil
		}
		w.busy = true
		c, replace := s.c, w.replace
		return func() tea.Msg { return writtenMsg{path, s.source.Write(c, path, replace)} }
	default:
		if !w.busy {
			w.fault, w.replace = "", false
			w.input.Press(key)
		}
	}
	return nil
}

// written closes the dialog, or asks again before a file is replaced.
func (s *Screen) written(msg writtenMsg) {
	w := s.write
	switch {
	case w != nil && errors.Is(msg.err, fs.ErrExist):
		w.busy, w.replace, w.fault = false, true, filepath.Base(msg.path)+" exists: enter again replaces it"
	case w != nil && msg.err != nil:
		w.busy, w.fault = false, oneLine(msg.err)
	case msg.err != nil:
		s.Complain("not written: " + oneLine(msg.err))
	default:
		said := "written to "
		if w != nil && w.replace {
			said = "replaced "
		}
		s.write = nil
		s.Say(said + msg.path)
	}
}

// Paste pastes into the path.
func (s *Screen) Paste(text string) {
	if s.write != nil && !s.write.busy {
		s.write.fault, s.write.replace = "", false
		s.write.input.Paste(text)
	}
}

// Prompt returns the keys of the dialog.
func (s *Screen) Prompt() []widget.KeyGroup {
	if s.write == nil {
		return nil
	}
	return []widget.KeyGroup{widget.Hint("enter", "writes", 0), widget.Hint("esc", "leaves", 0),
		widget.Hint("ctrl+u", "clears", 1), widget.Hint("ctrl+c", "quit", 1)}
}

// dialogWidth is the width of the inside of the dialog, on screens with room for it.
const dialogWidth = 60

// Dialog draws the open dialog.
func (s *Screen) Dialog(w, _ int) *chart.Canvas {
	if s.write == nil {
		return nil
	}
	inside := min(dialogWidth, w-8)
	return widget.Dialog("Write Markdown", "", inside+4, 4, func(c *chart.Canvas) {
		s.write.input.Draw(c, 0, 0, inside)
		about, style := "a path, from where prismtop was started", theme.Faint
		if s.write.fault != "" {
			about, style = visible.Text(s.write.fault), theme.Bad
		}
		c.Text(0, 1, chart.Cut(about, inside), style)
	})
}

// Click selects a row.
func (s *Screen) Click(_, y int, _ bool) tea.Cmd {
	if s.write == nil && s.c != nil && s.view == rowsView {
		if i := s.list.Above() + y - s.firstRow(); i >= s.list.Above() && i < s.list.Above()+s.room {
			s.list.At = min(i, len(s.items)-1)
		}
	}
	return nil
}

// Wheel moves the selection.
func (s *Screen) Wheel(step string) {
	if s.write == nil && s.c != nil {
		s.list.Move(step)
		s.skipTitle(step == "up")
	}
}

// Notes explain the table.
func (s *Screen) Notes() []string {
	notes := []string{
		"A is the base. change is the difference of the values; the bar and the interval are of what the verdict is " +
			"about: the same, or what is left of it once the move that all times made together is taken out.",
		"floor, and the dots around 0, are the A/A floor: what the sides differ from themselves. prismtop docs " +
			"compare says what every verdict means and how often it is wrong.",
	}
	if s.c != nil {
		notes = append(notes, s.c.Footnote())
	}
	return notes
}
