package pane

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// This file draws the effects as a table in panes wide enough for its columns, with the selected
// effect in words below.

// The columns of the time and the interval, whose room is joined for a text in rows without a
// number.
const (
	timeTitle         = "time"
	intervalTitle     = "95 % interval"
	incomparableWidth = 14 + 2 + 16
)

// effectForestFrom is the minimum width at which the forest is drawn to the right of the table.
const effectForestFrom = 142

// effectTableWidth is the minimum width of the table.
const effectTableWidth = 70

// effectColumn is a column of the table, right-aligned.
type effectColumn struct {
	title string
	width int
	rank  int // columns of the highest rank are dropped first, together
	cell  func(e *profiles.Effect) (string, theme.Style)
}

var effectColumns = []effectColumn{
	{"iteration", 9, 5, func(e *profiles.Effect) (string, theme.Style) {
		return strconv.Itoa(int(e.Iteration)), theme.Faint
	}},
	{"ms before", 9, 3, func(e *profiles.Effect) (string, theme.Style) {
		if words.Replicated(e) { // of the blocks, as its interval
			return unit.Milliseconds(e.Replica.OffNS), theme.Plain
		}
		return measured(e, unit.Milliseconds(e.BeforeNS)), timeStyle(e)
	}},
	{"after", 6, 3, func(e *profiles.Effect) (string, theme.Style) {
		if words.Replicated(e) {
			return unit.Milliseconds(e.Replica.OnNS), theme.Plain
		}
		return measured(e, unit.Milliseconds(e.AfterNS)), timeStyle(e)
	}},
	{timeTitle, 14, 0, nil}, // plus the interval's room if the effect is not comparable
	{intervalTitle, 16, 0, func(e *profiles.Effect) (string, theme.Style) {
		low, high, ok := words.Interval(e)
		switch {
		case ok:
			return fmt.Sprintf("[%s, %s]", unit.Signed(100*low, 1), unit.Signed(100*high, 1)), theme.Faint
		case e.Open():
			return "–", theme.Faint
		}
		return "", theme.Plain
	}},
	{"n before", 8, 4, func(e *profiles.Effect) (string, theme.Style) {
		return iterations(e, e.NBefore), theme.Faint
	}},
	{"after", 5, 4, func(e *profiles.Effect) (string, theme.Style) {
		return iterations(e, e.NAfter), theme.Faint
	}},
	{"memory", 9, 1, func(e *profiles.Effect) (string, theme.Style) {
		switch text := words.MemoryChange(e); {
		case text == "":
			return "–", theme.Faint
		case e.MemoryChange == 0:
			return "same", theme.Faint
		default:
			return text, theme.Plain
		}
	}},
	{qualityTitle, 9, 2, nil},
}

// qualityTitle is the title of the column of the quality, where that is in dB.
const qualityTitle = "dB change"

// titleOf returns the title of a column in this run, which may take one of the two cells between columns.
func (p *effects) titleOf(title string) string {
	if title != qualityTitle || p.Snap == nil {
		return title
	}
	if q := p.Snap.Run.Schema.QualityInfo(); q.Unit != "dB" {
		return words.FittingOrLast(chart.Width(qualityTitle)+1, q.Title+" change", q.Title)
	}
	return title
}

// timeStyle returns the style of the medians, which is faint where other differences make them
// incomparable.
func timeStyle(e *profiles.Effect) theme.Style {
	if e.Comparable() {
		return theme.Plain
	}
	return theme.Faint
}

// iterations returns the number of iterations on one side of a change, or a dash if its effect is that of blocks.
func iterations(e *profiles.Effect, n int) string {
	if words.Replicated(e) {
		return "–"
	}
	return strconv.Itoa(n)
}

// measured returns an effect's number, or a dash if it has too few iterations.
func measured(e *profiles.Effect, text string) string {
	if !e.Enough {
		return "–"
	}
	return text
}

// Rows of the table apart from its effects, and widths of its columns.
const (
	effectTitles = 1
	effectWords  = 5  // minimum for the selected effect in words, with a line above
	effectName   = 40 // maximum for the change where columns follow
	effectLeast  = 20 // minimum for the change
	effectNamed  = 22 // room for the change below which several settings are only named
	effectRanks  = 5

	effectForestLeast = 28
)

// effectLayout returns the columns of a table of w cells, the width for the change before them,
// and the width for the forest after them; 0 for no forest. Without a quality, its column is left out.
func effectLayout(w int, quality bool) (shown []effectColumn, name, behind int) {
	there := func(col *effectColumn) bool { return quality || col.title != qualityTitle }
	room := w
	if w >= effectForestFrom {
		room -= effectForestLeast + 2
	}
	used, last := 0, 0
	for rank := range effectRanks + 1 {
		more := 0
		for _, col := range effectColumns {
			if col.rank == rank && there(&col) {
				more += col.width + 2
			}
		}
		if rank > 0 && used+more+effectLeast > room {
			break
		}
		used, last = used+more, rank
	}
	for _, col := range effectColumns {
		if col.rank <= last && there(&col) {
			shown = append(shown, col)
		}
	}
	if w < effectForestFrom {
		return shown, w - used, 0
	}
	name = min(room-used, effectName)
	return shown, name, w - name - used - 2
}

// wordRows returns the rows for the selected effect in words: a typical text, additional lines
// for a replication and a fork, and a line above.
func wordRows(w, h int, e *profiles.Effect) int {
	most := 400 // characters
	if e.Replica != nil {
		most += 130
	}
	if e.Fork != nil {
		most += 90
	}
	return min(2+(most+w-1)/w, max(effectWords, h/2))
}

func (p *effects) table(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	shown, name, behind := effectLayout(w, s.Run.Schema.QualityInfo().Name != "")
	p.titles(c, shown, name)
	spoken := wordRows(w, h, &s.Effects[len(s.Effects)-1-p.At])
	rows := h - effectTitles - spoken
	if behind > 0 {
		rows -= chart.ForestAxis
	}
	first, last := p.Fit(len(s.Effects), rows)
	y, n := effectTitles+last-first, last-first
	switch told := slices.ContainsFunc(s.Effects, func(e profiles.Effect) bool { return e.Comparable() }); {
	case !told: // no effect for a forest
	case behind > 0:
		x := w - behind
		c.Text(x, 0, words.Fitting(behind, "time of an iteration, after against before", "time, after against before"),
			theme.Faint)
		plot := c.Sub(x, effectTitles, behind, n+1)
		chart.Forest(&plot, p.whiskers(s, first, last, false), 0)
		y++
	case rows-n >= n+4:
		c.Text(2, y+1, "time of an iteration, after against before", theme.Faint)
		plot := c.Sub(2, y+2, w-2, n+1)
		chart.Forest(&plot, p.whiskers(s, first, last, true), max(name-2, 24))
		y += n + 3
	}
	around := c.Sub(0, y+1, w, h-spoken-y-2)
	p.around(&around, s, &s.Effects[len(s.Effects)-1-p.At])
	for i := first; i < last; i++ {
		y := effectTitles + i - first
		e := &s.Effects[len(s.Effects)-1-i]
		p.pointer(c, y, i)
		c.Text(2, y, chart.Cut(words.ChangedIn(s.Settings.Table(), e, p.host.Cores(), name-2), name-2), theme.Plain)
		x := name
		for _, col := range shown {
			x += col.width + 2
			text, style := p.cell(s, e, &col)
			if _, _, known := words.Interval(e); words.Undecided(s, e) {
				switch col.title {
				case timeTitle:
					continue // its room is joined with the interval's
				case intervalTitle:
					text, style = outcome(s, e)
				}
			} else if col.title == intervalTitle && !known && !e.Open() {
				text, style = words.FittingOrLast(incomparableWidth, incomparable(p.host, s, e)...), theme.Warn
			}
			c.TextRight(x, y, text, style)
		}
	}
	words := c.Sub(0, h-spoken, w, spoken)
	words.Fill(0, 0, w, 1, '╌', theme.Border)
	p.inWords(&words, s, &s.Effects[len(s.Effects)-1-p.At])
	return p.Note("later", "earlier"), theme.Faint
}

// whiskers returns the visible effects as rows of a forest plot.
func (p *effects) whiskers(s *profiles.Snapshot, first, last int, named bool) []chart.Whisker {
	rows := make([]chart.Whisker, 0, last-first)
	for i := first; i < last; i++ {
		e := &s.Effects[len(s.Effects)-1-i]
		low, high, known := words.Interval(e)
		r := chart.Whisker{At: math.NaN(), Low: low, High: high, Bounded: known, Style: verdict(e)}
		switch {
		case words.Replicated(e):
			r.At = e.Replica.Effect
		case known:
			r.At = e.Shift
		}
		if named {
			r.Name = words.ChangedIn(s.Settings.Table(), e, p.host.Cores(), effectNamed)
		}
		rows = append(rows, r)
	}
	return rows
}

// cell returns the text of an effect in a column.
func (p *effects) cell(s *profiles.Snapshot, e *profiles.Effect, col *effectColumn) (string, theme.Style) {
	switch {
	case col.cell != nil:
		return col.cell(e)
	case col.title == qualityTitle && !e.HasQuality:
		return "–", theme.Faint
	case col.title == qualityTitle:
		return unit.Difference(e.QualityDrift, s.Run.Schema.QualityInfo().Unit), theme.Faint
	}
	text, style := outcome(s, e)
	if strings.HasSuffix(text, "%") {
		text = fmt.Sprintf("%-9s", text)
	}
	return text, style
}

func (p *effects) titles(c *chart.Canvas, columns []effectColumn, x int) {
	c.Text(2, 0, words.Fitting(x-2, "change, newest first", "newest first"), theme.Faint)
	for _, col := range columns {
		x += col.width + 2
		c.TextRight(x, 0, chart.Cut(p.titleOf(col.title), col.width+1), theme.Faint)
	}
}

// inWords describes one effect in full below the line.
func (p *effects) inWords(c *chart.Canvas, s *profiles.Snapshot, e *profiles.Effect) {
	_, h := c.Size()
	text := fmt.Sprintf("%s at iteration %d: ", p.what(s, e), e.Iteration)
	advice := ""
	switch why, _ := e.Incomparable(); {
	case words.Deciding(s, e) != nil:
		a := words.Deciding(s, e)
		text += a.Progress() + "."
		for i := range a.Rows { // one
			if far := words.SoFar(&a.Rows[i]); far != "" {
				text += " An iteration takes " + far + "."
			}
		}
	case words.Replicated(e):
		r := e.Replica
		text += fmt.Sprintf("an iteration takes %s ms instead of %s, by the medians of its blocks.",
			strings.TrimSpace(unit.Milliseconds(r.OnNS)), strings.TrimSpace(unit.Milliseconds(r.OffNS)))
	case e.Replica != nil && !e.Comparable():
		text += "its effect on the time is not decided."
		if far := words.SoFar(e.Replica); far != "" {
			text += " An iteration took " + far + "."
		}
		if ablationOf(p.host, s, e) == replicationOffered {
			advice = p.host.Keys().Say("Press {replicate|a key}: it is switched back and forth until it is decided, " +
				"however long that takes.")
		}
	case e.Comparable():
		text += fmt.Sprintf("an iteration takes %s ms instead of %s, %s (95 %% interval %s to %s %%), from %d "+
			"iterations before and %d after%s. %s%s",
			strings.TrimSpace(unit.Milliseconds(e.AfterNS)), strings.TrimSpace(unit.Milliseconds(e.BeforeNS)),
			strings.TrimSpace(unit.SignedPercent(e.Shift)),
			unit.Signed(100*e.Low, 1), unit.Signed(100*e.High, 1), e.NBefore, e.NAfter, leftOut(e), drifted(e),
			reading(s, e))
		if len(e.With) > 0 {
			text += " The settings took force together: that is their effect together."
		}
	case e.Open():
		text += fmt.Sprintf("%d iterations before, %d after; %d more are needed.", e.NBefore, e.NAfter, e.Needed)
	case e.Enough:
		text += strings.TrimSpace(fmt.Sprintf("%s, not comparable: %s. %s", words.Medians(e), why, meanwhile(s, e)))
		advice = p.compareBy(s, e)
	default:
		if e.Ended && e.Needed > 0 {
			why += fmt.Sprintf(", %s after the change", unit.About(int64(e.NAfter), "iteration", "iterations"))
		}
		text += fmt.Sprintf("not comparable: %s; 20 are needed on each side.", why)
		advice = p.compareBy(s, e)
	}
	text += words.Examined(s, e) + besides(e) + remembered(e)
	if reason := p.Snap.Load.Reason; reason != "" {
		text += " What other programs took is not known: " + reason + "."
	}
	y := WriteWrapped(c, 0, 1, h-1, text, theme.Plain)
	if advice != "" {
		WriteWrapped(c, 0, y, h-y, advice, theme.Warn)
	}
}

// besides describes what the iterations before and after a change show that was switched
// back and forth: less, because the run drifts.
func besides(e *profiles.Effect) string {
	if !words.Replicated(e) || !e.Comparable() {
		return ""
	}
	return fmt.Sprintf(" The %d iterations before the change and %d after it alone: %s (%s to %s %%).", e.NBefore,
		e.NAfter, strings.TrimSpace(unit.SignedPercent(e.Shift)),
		unit.Signed(100*e.Low, 1), unit.Signed(100*e.High, 1))
}

// compareBy describes how to compare a change whose effect is not comparable.
func (p *effects) compareBy(s *profiles.Snapshot, e *profiles.Effect) string {
	which := "it"
	if len(e.With) > 0 {
		which = "each"
	}
	switch ablationOf(p.host, s, e) {
	case replicationOffered:
		return p.host.Keys().Say("Press {replicate|a key}: it is switched back and forth in balanced blocks, which " +
			"other programs slow alike, until it is decided.")
	case ablationOffered:
		return p.host.Keys().Say("Press {ablate|a key}: an ablation compares ") + which +
			" in balanced blocks, which other programs slow alike."
	case ablationKnows:
		return "The Ablation pane compares " + which + " in balanced blocks, which other programs slow alike."
	}
	switch {
	case words.Ended(s.State) || !p.host.Tunable() || p.host.AblationRuns():
		return ""
	case e.Enough:
		return "Change it back and again in the middle of a sample, on a quiet machine."
	case e.Needed <= 0:
		return "Change it back, let it run, and change it again."
	}
	return "Change it again and leave it for longer."
}

// remembered describes what a change did to the run's memory.
func remembered(e *profiles.Effect) string {
	switch {
	case !e.HasMemory:
		return ""
	case e.MemoryChange == 0:
		return " The run holds as much memory as before."
	case e.MemoryChange > 0:
		return " The run holds " + unit.Size(e.MemoryChange) + " more memory."
	}
	return " The run holds " + unit.Size(-e.MemoryChange) + " less memory."
}

// leftOut reports the iterations left out because other programs disturbed them.
func leftOut(e *profiles.Effect) string {
	if e.LeftOut == 0 {
		return ""
	}
	return fmt.Sprintf(", without %d that other programs disturbed", e.LeftOut)
}

// drifted describes the run's own drift, which determines the width of the interval.
func drifted(e *profiles.Effect) string {
	if e.DriftWindows == 0 {
		return ""
	}
	return fmt.Sprintf("With nothing changed, the median moved by up to %s between %d windows before it. ",
		unit.Share(e.Drift), e.DriftWindows)
}

// reading describes the meaning of an interval and of a drift in quality.
func reading(s *profiles.Snapshot, e *profiles.Effect) string {
	text := "Any effect is smaller than this drift. "
	switch e.Verdict() {
	case profiles.Faster:
		text = "That is faster. "
	case profiles.Slower:
		text = "That is slower. "
	case profiles.Equal:
		text = "That is equal within 1 %. "
	}
	return strings.TrimSpace(text + meanwhile(s, e))
}

// meanwhile describes what the quality did; "" in a run without one.
func meanwhile(s *profiles.Snapshot, e *profiles.Effect) string {
	switch q := s.Run.Schema.QualityInfo(); {
	case q.Name == "":
		return ""
	case !e.HasQuality:
		return "Quality was not measured on both sides."
	default:
		return fmt.Sprintf("Training went on meanwhile: %s %s.", q.Title, words.QualityDrift(s, e.QualityDrift))
	}
}
