package screen

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// help is a scrollable sheet over the screen that explains the focused pane, lists all
// bindings, searches both, or lists the alerts.
type help struct {
	sheet
	run   *asking
	tiles *tiling
	keys  *bindings
	cost  *cost
	note  string // the error in the file of the remembered state
}

// sheet is what the help shows.
type sheet struct {
	page helpPage
	find *widget.Input // what is searched for; nil without a search
	widget.Scroll
}

type helpPage uint8

const (
	noHelp helpPage = iota
	paneHelp
	keysHelp
	alertsHelp
)

// next switches from closed to the focused pane's page, then to the keys, then to closed.
func (h *help) next() {
	page := keysHelp
	switch {
	case h.page == noHelp && h.tiles.focus != layout.None:
		page = paneHelp
	case h.page == keysHelp:
		page = noHelp
	}
	h.sheet = sheet{page: page}
}

// close closes the sheet.
func (h *help) close() { h.sheet = sheet{} }

// box draws the sheet.
func (h *help) box(in room) *chart.Canvas {
	if h.find != nil {
		w, more := min(pane.ProseWidth, in.w-4), ""
		if h.find.Value() != "" {
			more = "esc clears the search first"
		}
		return h.scrolled(in, "Search the help", more, [][]widget.Line{h.foundLines(w)}, w)
	}
	if h.page == paneHelp && h.tiles.focus != layout.None {
		w := min(pane.ProseWidth, in.w-4)
		return h.scrolled(in, h.tiles.paneName(h.tiles.focus), h.keys.Say(allKeysHint+" · "+searchHint),
			[][]widget.Line{h.paneLines(w)}, w)
	}
	if h.page == alertsHelp {
		w := min(pane.ProseWidth, in.w-4)
		return h.scrolled(in, "Alerts", h.keys.Say(allKeysHint), [][]widget.Line{h.alertLines(w)}, w)
	}
	columns, width := h.keyColumns()
	return h.scrolled(in, "Keys", h.keys.Say(searchHint), columns, len(columns)*(width+2)-2)
}

// search begins a search.
func (h *help) search() { h.sheet = sheet{page: keysHelp, find: widget.NewInput("")} }

// pressSearch handles a key of a search: the sheet scrolls, esc clears what was typed and then closes the help, every
// other key is typed.
func (h *help) pressSearch(pressed string) {
	switch {
	case pressed == "esc" && h.find.Value() == "":
		h.close()
	case pressed == "esc":
		h.search()
	case widget.Types(pressed) || widget.Edits(pressed):
		h.find.Press(pressed)
		h.Scroll = widget.Scroll{}
	default:
		h.Move(pressed)
	}
}

// foundLines returns what is searched for, the keys and the paragraphs on panes that have all of its words.
func (h *help) foundLines(w int) []widget.Line {
	text := h.find.Value()
	lines := []widget.Line{{Key: h.keys.Of("search"), Text: text + "_", Style: theme.Strong}, {}}
	wanted := strings.Fields(strings.ToLower(text))
	if len(wanted) == 0 {
		return append(lines, widget.Wrapped("Type words: keys and explanations with all of them are listed.", w,
			theme.Faint)...)
	}
	has := func(parts ...string) bool {
		all := strings.ToLower(strings.Join(parts, " "))
		return !slices.ContainsFunc(wanted, func(word string) bool { return !strings.Contains(all, word) })
	}
	least := len(lines)
	for _, section := range ownSections {
		for _, r := range h.keys.Rows(section) {
			if has(r.Name(), r.Help, r.Short, r.Long, section.Title()) {
				lines = append(lines, widget.KeyLines(r.Name(), r.Help, w)...)
			}
		}
	}
	explain := func(title string, paragraphs []string) {
		for _, sentences := range paragraphs {
			if paragraph := h.keys.Say(profiles.Advice(sentences)); has(paragraph) {
				lines = append(lines, widget.Line{}, widget.Line{Text: title, Style: theme.Title})
				lines = append(lines, widget.Wrapped(paragraph, w, theme.Plain)...)
			}
		}
	}
	for id := range h.tiles.panes {
		explain(h.tiles.paneName(layout.Pane(id)), h.tiles.panes[id].Explain())
	}
	explain("Header", explanations.Of("header", "{unit}", h.unit()))
	explain("Footer", explanations.Of("footer"))
	if len(lines) == least {
		return append(lines, widget.Line{Text: "Nothing has these words.", Style: theme.Faint})
	}
	return lines
}

//go:embed explain.md
var explainMarkdown string

// explanations are the texts on the lines around the panes.
var explanations = pane.ParseExplanations(explainMarkdown)

// unit names the run's unit of work as the header does.
func (h *help) unit() string {
	if h.run.snap == nil || !h.run.snap.InUnits() {
		return "stage"
	}
	return h.run.snap.Run.Schema.Unit.One
}

// paneLines explain the focused pane.
func (h *help) paneLines(w int) []widget.Line {
	var lines []widget.Line
	for _, paragraph := range h.tiles.panes[h.tiles.focus].Explain() {
		for _, l := range words.Wrap(h.keys.Say(profiles.Advice(paragraph)), w) {
			lines = append(lines, widget.Line{Text: l})
		}
		lines = append(lines, widget.Line{})
	}
	lines = append(lines, widget.Line{Text: "Keys here", Style: theme.Title})
	for _, h := range h.tiles.hints(h.keys) {
		lines = append(lines, widget.Line{Key: h.Key, Text: h.Does})
	}
	for _, all := range paneHints {
		lines = append(lines, widget.Line{Key: h.keys.Of(all.action), Text: all.does})
	}
	return lines
}

// paneHints are the actions common to all panes.
var paneHints = []struct {
	action profiles.Action
	does   string
}{
	{"zoom", "the whole screen, and back"}, {"next pane", "the next pane"}, {"previous pane", "the previous pane"},
	{"close", "one step back"},
}

// guide names the panes that answer common questions.
var guide = []struct{ where, does string }{
	{"Effects", "what a switch did to an iteration's time"},
	{"Caches", "what each saved, less what asking it costs"},
	{"Phases", "where the time goes, the worst in its edge"},
	{"{next pane|next pane}, {help|help}", "a pane's words, how its numbers are measured"},
}

// keyColumns returns all bindings and the run's notes, in columns of width cells.
func (h *help) keyColumns() (columns [][]widget.Line, width int) {
	return widget.Columns(h.tiles.layout.W-4, h.tiles.layout.H-2, func(width int) [][]widget.Line {
		blocks := [][]widget.Line{h.noteLines(width)}
		for _, section := range ownSections {
			rows := h.keys.Rows(section)
			if len(rows) == 0 {
				continue
			}
			block := widget.Title(section.Title(), width)
			for _, r := range rows {
				block = append(block, widget.KeyLines(r.Name(), r.Help, width)...)
			}
			blocks = append(blocks, block)
		}
		return blocks
	})
}

// noteLines returns the guide, anything emulated or hidden, and the run's notes.
func (h *help) noteLines(w int) []widget.Line {
	lines := widget.Title("Where to look", w)
	for _, g := range guide {
		lines = append(lines, widget.KeyLines(h.keys.Say(profiles.Advice(g.where)), g.does, w)...)
	}
	var notes []string
	if h.run.snap != nil {
		notes = append(notes, h.run.cautionLines()...)
		if reason := words.OnCPU(h.run.snap); reason != "" {
			notes = append(notes, "The device auto is the CPU: "+reason+".")
		}
	}
	if names := h.tiles.paneNames(h.tiles.layout.Crowded()); names != "" && !h.tiles.zoomed {
		notes = append(notes, "Too small for: "+names+".")
	}
	if names := h.tiles.paneNames(h.tiles.layout.Put.List()); names != "" {
		notes = append(notes, "Hidden, as you left them: "+names+". "+h.keys.Say(panesShowsThem))
	}
	if h.run.snap != nil {
		notes = append(notes, h.run.snap.Run.Notes...)
	}
	if h.note != "" {
		notes = append(notes, h.note)
	}
	notes = append(notes, h.cost.notes()...)
	if len(notes) > 0 {
		lines = append(lines, widget.Line{}, widget.Line{Text: "Here", Style: theme.Title})
	}
	for _, n := range notes {
		for _, l := range words.Wrap(n, w) {
			lines = append(lines, widget.Line{Text: l, Style: theme.Faint})
		}
	}
	return lines
}

// scrolled returns a sheet with columns of w cells, scrolled to its current row.
func (h *help) scrolled(in room, title, more string, columns [][]widget.Line, w int) *chart.Canvas {
	return widget.Sheet(&h.Scroll, title, more, columns, w, in.w, in.h)
}

// toggleAlerts opens or closes the list of alerts.
func (h *help) toggleAlerts() {
	if h.page == alertsHelp {
		h.close()
		return
	}
	h.sheet = sheet{page: alertsHelp}
}

// openOnFailure opens the list of alerts if the run has just failed and no sheet is open,
// because the reason needs more than one line.
func (h *help) openOnFailure(before, now *profiles.Snapshot) {
	failed := now.State == profiles.Failed && (before == nil || before.State != profiles.Failed)
	if failed && h.page == noHelp {
		h.sheet = sheet{page: alertsHelp}
	}
}

// alertLines returns the full alerts in lines of w cells, each with its severity, first iteration and
// advice.
func (h *help) alertLines(w int) []widget.Line {
	alerts := troubles(h.run.snap, h.keys)
	if len(alerts) == 0 {
		return widget.Wrapped("No alert is active. The Log pane keeps the cleared ones.", w, theme.Plain)
	}
	var lines []widget.Line
	for _, a := range alerts {
		style := pane.AlertStyle(a.Severity)
		lines = append(lines, widget.Line{Text: fmt.Sprintf("%c %s since iteration %d", pane.AlertGlyph(a.Severity),
			a.Severity, a.Iteration), Style: style})
		lines = append(lines, widget.Wrapped(a.What, w, theme.Strong)...)
		lines = append(lines, widget.Wrapped(h.keys.Say(a.Try), w, theme.Plain)...)
		lines = append(lines, widget.Line{})
	}
	return lines[:len(lines)-1]
}
