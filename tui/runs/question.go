package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// This file asks for names, notes and paths, and before it deletes.

// question is an open dialog.
type question struct {
	kind  questionKind
	runs  []*Run        // it is about
	kept  []*Run        // of those to delete, the ones whose run goes on
	input *widget.Input // of a text; nil for none
	list  widget.List   // of formats
	of    []Target
	to    Target   // the format chosen
	taken []string // files that the export replaces if enter is pressed again
	fault string   // why the text cannot be used
	busy  bool     // the path is being looked at
}

type questionKind uint8

const (
	nameQuestion questionKind = iota
	noteQuestion
	formatQuestion
	pathQuestion
	deleteQuestion
)

// askText asks for the name or the note of the selected run.
func (t *Table) askText(key string) tea.Cmd {
	r := t.selected()
	switch {
	case r == nil:
	case r.State == Unread:
		t.Complain("cannot be described: " + r.Err)
	case key == "name":
		t.ask = &question{kind: nameQuestion, runs: []*Run{r}, input: widget.NewInput(r.Name)}
	default:
		t.ask = &question{kind: noteQuestion, runs: []*Run{r}, input: widget.NewInput(r.Note)}
	}
	return nil
}

// askExport asks for the format in which to export the selected run.
func (t *Table) askExport() tea.Cmd {
	r := t.selected()
	switch {
	case r == nil:
	case t.exporting != "":
		t.Complain(t.Keys.Say("an export is being written: {runs stop|a stop} stops it"))
	case r.State == Unread:
		t.Complain("cannot be exported: " + r.Err)
	default:
		t.ask = &question{kind: formatQuestion, runs: []*Run{r}, of: t.source.Targets()}
	}
	return nil
}

// stopExport stops the export; nothing is left of it.
func (t *Table) stopExport() tea.Cmd {
	if t.exporting == "" {
		t.Say("nothing is being exported")
		return nil
	}
	t.stop()
	return nil
}

// askDelete asks before it deletes the marked runs, or the selected one.
func (t *Table) askDelete() tea.Cmd {
	q := &question{kind: deleteQuestion}
	for _, r := range t.chosen() {
		switch {
		case r.State == Running:
			q.kept = append(q.kept, r)
		default:
			q.runs = append(q.runs, r)
		}
	}
	switch {
	case len(q.runs) > 0:
		t.ask = q
	case len(q.kept) > 0:
		t.Complain("a run in progress cannot be deleted")
	}
	return nil
}

// answer handles a key while a dialog is open.
func (t *Table) answer(key string) tea.Cmd {
	q := t.ask
	switch {
	case key == "esc":
		t.ask = nil
	case q.kind == deleteQuestion:
		t.ask = nil
		if key == "y" || key == "Y" {
			return t.delete(q.runs)
		}
		t.Say("nothing was deleted")
	case q.kind == formatQuestion:
		t.chooseFormat(key)
	case key == "enter":
		return t.accept()
	case !q.busy:
		q.fault, q.taken = "", nil
		q.input.Press(key)
	}
	return nil
}

// chooseFormat handles a key in the list of formats.
func (t *Table) chooseFormat(key string) {
	q := t.ask
	if n, err := strconv.Atoi(key); err == nil && n >= 1 && n <= len(q.of) {
		q.list.At, key = n-1, "enter"
	}
	if key != "enter" {
		q.list.Move(key)
		return
	}
	q.to = q.of[q.list.At]
	q.kind, q.input = pathQuestion, widget.NewInput(q.runs[0].File+q.to.Ending)
}

// accept takes the text of a dialog.
func (t *Table) accept() tea.Cmd {
	q := t.ask
	text := strings.TrimSpace(q.input.Value())
	path := q.runs[0].Path
	switch q.kind {
	case pathQuestion:
		switch {
		case q.busy:
			return nil
		case text == "":
			q.fault = "the path is missing"
			return nil
		case q.taken != nil:
			return t.export(text)
		}
		q.busy = true
		source, format := t.source, q.to.Name
		return func() tea.Msg {
			taken, err := source.Taken(format, text)
			return takenMsg{q, taken, err}
		}
	case nameQuestion:
		t.ask = nil
		return t.describe(path, "name", text)
	default:
		t.ask = nil
		return t.describe(path, "note", text)
	}
}

// takenMsg reports which files an export would replace.
type takenMsg struct {
	of    *question
	taken []string
	err   error
}

// heardTaken goes on with an export, unless it would replace files: then it asks again.
func (t *Table) heardTaken(msg takenMsg) tea.Cmd {
	q := msg.of
	if q != t.ask { // closed meanwhile
		return nil
	}
	q.busy = false
	switch {
	case msg.err != nil:
		q.fault = msg.err.Error()
	case len(msg.taken) > 0:
		q.taken = msg.taken
		q.fault = filepath.Base(msg.taken[0]) + " exists: enter again replaces it"
		if n := len(msg.taken); n > 1 {
			q.fault = fmt.Sprintf("%d files exist, %s the first: enter again replaces them", n,
				filepath.Base(msg.taken[0]))
		}
	default:
		return t.export(strings.TrimSpace(q.input.Value()))
	}
	return nil
}

// export writes the run of the dialog.
func (t *Table) export(to string) tea.Cmd {
	q := t.ask
	t.ask = nil
	var ctx context.Context
	ctx, t.stop = context.WithCancel(t.Context())
	t.exporting = q.runs[0].Path
	t.Say("exporting " + q.runs[0].File + " …")
	source, path, format, stop := t.source, t.exporting, q.to.Name, t.stop
	return func() tea.Msg {
		defer stop()
		paths, err := source.Export(ctx, path, format, to)
		if ctx.Err() != nil {
			err = errors.New("the export was stopped: nothing is left of it")
		}
		return doneMsg{said: "exported " + strings.Join(paths, ", "), err: err, exported: true}
	}
}

// describe sets the name or the note of a run.
func (t *Table) describe(path, key, text string) tea.Cmd {
	source, parent := t.source, t.Context()
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(parent, deadline)
		defer stop()
		err := source.Describe(ctx, path, key, text)
		said := key + " set"
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return doneMsg{err: errors.New("the file is no longer there"), gone: []string{path}}
		case text == "":
			said = key + " removed"
		}
		return doneMsg{said: said, err: err}
	}
}

// delete deletes runs, all of them as far as that works.
func (t *Table) delete(runs []*Run) tea.Cmd {
	source, parent := t.source, t.Context()
	doomed := make([]Run, len(runs))
	for i, r := range runs {
		doomed[i] = *r
	}
	return func() tea.Msg {
		var done doneMsg
		var failed []error
		bytes := int64(0)
		for _, r := range doomed {
			ctx, stop := context.WithTimeout(parent, deadline)
			err := source.Delete(ctx, r.Path)
			stop()
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = append(failed, err)
				continue
			}
			bytes += r.Bytes
			done.gone = append(done.gone, r.Path)
		}
		done.said = "deleted " + count(len(done.gone)) + ", " + unit.Size(bytes)
		if len(failed) > 0 {
			done.err = fmt.Errorf("deleted %d of %d: %w", len(done.gone), len(doomed), errors.Join(failed...))
		}
		return done
	}
}

// hints returns the keys of the dialog for the footer.
func (q *question) hints() []widget.KeyGroup {
	quit := widget.Hint("ctrl+c", "quit", 2)
	switch q.kind {
	case deleteQuestion:
		return []widget.KeyGroup{widget.Hint("y", "deletes", 0), widget.Hint("any other key", "keeps", 0), quit}
	case formatQuestion:
		return []widget.KeyGroup{widget.Hint("↑ ↓", "select", 0), widget.Hint("enter", "takes it", 0),
			widget.Hint("esc", "leaves", 0), quit}
	}
	return []widget.KeyGroup{widget.Hint("enter", "sets", 0), widget.Hint("esc", "leaves", 0),
		widget.Hint("ctrl+u", "clears", 1), quit}
}

// dialogWidth is the width of the inside of a dialog, on screens with room for it.
const dialogWidth = 72

// Dialog draws the open dialog.
func (t *Table) Dialog(w, h int) *chart.Canvas {
	q := t.ask
	if q == nil {
		return nil
	}
	inside := min(dialogWidth, w-8)
	switch q.kind {
	case deleteQuestion:
		lines := q.doomed(inside, h-6)
		return widget.Dialog("Delete", "y deletes, any other key keeps", inside+4, len(lines)+2, func(c *chart.Canvas) {
			for y, l := range lines {
				c.Text(0, y, chart.Cut(l.Text, inside), l.Style)
			}
		})
	case formatQuestion:
		return widget.Dialog("Export "+visible.Text(q.runs[0].File), "enter takes it, esc", inside+4, len(q.of)+2,
			func(c *chart.Canvas) {
				first, last := q.list.Fit(len(q.of), len(q.of))
				for i := first; i < last; i++ {
					if i == q.list.At {
						c.Text(0, i, "▸", theme.Key)
					}
					c.Text(2, i, strconv.Itoa(i+1), theme.Key)
					c.Text(4, i, q.of[i].Name, theme.Plain)
					c.Text(18, i, chart.Cut(q.of[i].About, inside-18), theme.Faint)
				}
			})
	}
	title := map[questionKind]string{nameQuestion: "Name of ", noteQuestion: "Note on ",
		pathQuestion: "Export " + q.to.Name + " of "}[q.kind]
	return widget.Dialog(title+visible.Text(q.runs[0].File), "", inside+4, 4, func(c *chart.Canvas) {
		q.input.Draw(c, 0, 0, inside)
		about, style := "empty removes it", theme.Faint
		if q.kind == pathQuestion {
			about = "the path, from where prismtop was started"
			if q.busy {
				about = "looking …"
			}
		}
		if q.fault != "" {
			about, style = visible.Text(q.fault), theme.Bad
		}
		c.Text(0, 1, chart.Cut(about, inside), style)
	})
}

// doomed returns what the question says in lines of w cells, at most h.
func (q *question) doomed(w, h int) []widget.Line {
	bytes := int64(0)
	for _, r := range q.runs {
		bytes += r.Bytes
	}
	var lines []widget.Line
	say := func(text string, style theme.Style) {
		for _, l := range words.Wrap(text, w) {
			lines = append(lines, widget.Line{Text: l, Style: style})
		}
	}
	say("Delete "+count(len(q.runs))+", "+unit.Size(bytes)+", for good?", theme.Strong)
	unread := 0
	for _, r := range q.runs {
		if r.State == Unread {
			unread++
		}
	}
	if unread > 0 {
		say(fmt.Sprintf("%d cannot be read as a recording.", unread), theme.Warn)
	}
	if n := len(q.kept); n > 0 {
		say(unit.Plural(n, "goes on and is kept.", "go on and are kept."), theme.Warn)
	}
	lines = append(lines, widget.Line{})
	for i, r := range q.runs {
		if len(lines) >= h-1 && i < len(q.runs)-1 {
			lines = append(lines, widget.Line{Text: fmt.Sprintf("… and %d more", len(q.runs)-i), Style: theme.Faint})
			break
		}
		text := visible.Text(r.File)
		if r.State == Unread {
			text += ": " + visible.Text(r.Err)
		} else if r.Name != "" {
			text += " · " + visible.Text(r.Name)
		}
		lines = append(lines, widget.Line{Text: chart.Cut(text, w)})
	}
	return lines
}
