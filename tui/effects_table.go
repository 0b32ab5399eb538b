package tui

import (
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// This file is effects as a table, where a pane is large enough for its columns,
// with the picked one in words below.

// effectTableWidth is the width from which effects have columns.
const effectTableWidth = 70

// effectColumn is a column of the table, right-aligned.
type effectColumn struct {
	title string
	width int
	least int // width of the pane from which it is shown
	cell  func(e *profiles.Effect) (string, theme.Style)
}

var effectColumns = []effectColumn{
	{"iteration", 9, 89, func(e *profiles.Effect) (string, theme.Style) { return itoa(int(e.Iteration)), theme.Faint }},
	{"ms before", 9, 101, func(e *profiles.Effect) (string, theme.Style) {
		return measured(e, milliseconds(e.BeforeNS)), theme.Plain
	}},
	{"after", 6, 101, func(e *profiles.Effect) (string, theme.Style) {
		return measured(e, milliseconds(e.AfterNS)), theme.Plain
	}},
	{"time", 14, 0, func(e *profiles.Effect) (string, theme.Style) {
		if !e.Enough {
			return lacking(e), theme.Faint
		}
		return fmt.Sprintf("%-9s", shift(e)), verdict(e)
	}},
	{"95 % interval", 16, 0, func(e *profiles.Effect) (string, theme.Style) {
		return measured(e, fmt.Sprintf("[%s, %s]", signed(100*e.Low, 1), signed(100*e.High, 1))), theme.Faint
	}},
	{"n before", 8, 116, func(e *profiles.Effect) (string, theme.Style) { return itoa(e.NBefore), theme.Faint }},
	{"after", 5, 116, func(e *profiles.Effect) (string, theme.Style) { return itoa(e.NAfter), theme.Faint }},
	{"dB meanwhile", 12, 0, func(e *profiles.Effect) (string, theme.Style) {
		if !e.HasQuality {
			return "–", theme.Faint
		}
		return drift(e.QualityDrift), theme.Faint
	}},
}

// measured is a number of an effect that has enough iterations.
func measured(e *profiles.Effect, text string) string {
	if !e.Enough {
		return "–"
	}
	return text
}

// Rows of the table besides its effects.
const (
	effectTitles = 1
	effectWords  = 5 // the picked effect in words at least, with a line above
	effectName   = 40
)

// wordRows is the room for the picked effect in words: what most have, and a line
// above.
func wordRows(w, h int) int {
	const most = 400 // characters
	return min(2+(most+w-1)/w, max(effectWords, h/2))
}

func (p *effects) table(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	columns := 0
	shown := make([]effectColumn, 0, len(effectColumns))
	for _, col := range effectColumns {
		if w >= col.least {
			shown = append(shown, col)
			columns += col.width + 2
		}
	}
	name := w - columns
	beside := name-effectName-2 >= forestWidth
	if beside {
		name = effectName
	}
	p.titles(c, shown, name)
	spoken := wordRows(w, h)
	rows := h - effectTitles - spoken
	if beside {
		rows -= forestAxis
	}
	first, last := p.fit(len(s.Effects), rows)
	y, n := effectTitles+last-first, last-first
	switch {
	case beside:
		x := name + columns + 2
		c.Text(x, 0, "time of an iteration, after against before", theme.Faint)
		plot := c.Sub(x, effectTitles, w-x, n+1)
		forest(&plot, p.whiskers(s, first, last, false), 0)
	case rows-n >= n+4:
		c.Text(2, y+1, "time of an iteration, after against before", theme.Faint)
		plot := c.Sub(2, y+2, w-2, n+1)
		forest(&plot, p.whiskers(s, first, last, true), max(name-2, 24))
	}
	for i := first; i < last; i++ {
		y := effectTitles + i - first
		e := &s.Effects[len(s.Effects)-1-i]
		p.pointer(c, y, i)
		c.Text(2, y, chart.Cut(p.what(e), name-2), theme.Plain)
		x := name
		for _, col := range shown {
			x += col.width + 2
			text, style := col.cell(e)
			c.TextRight(x, y, text, style)
		}
	}
	words := c.Sub(0, h-spoken, w, spoken)
	words.Fill(0, 0, w, 1, '╌', theme.Border)
	p.inWords(&words, &s.Effects[len(s.Effects)-1-p.at])
	return p.note("later", "earlier"), theme.Faint
}

// whiskers are the effects on screen for a forest.
func (p *effects) whiskers(s *profiles.Snapshot, first, last int, named bool) []whisker {
	rows := make([]whisker, 0, last-first)
	for i := first; i < last; i++ {
		e := &s.Effects[len(s.Effects)-1-i]
		r := whisker{"", math.NaN(), e.Low, e.High, e.Enough, verdict(e)}
		if e.Enough {
			r.at = e.Shift
		}
		if named {
			r.name = p.what(e)
		}
		rows = append(rows, r)
	}
	return rows
}

func (p *effects) titles(c *chart.Canvas, columns []effectColumn, x int) {
	c.Text(2, 0, "change, newest first", theme.Faint)
	for _, col := range columns {
		x += col.width + 2
		c.TextRight(x, 0, col.title, theme.Faint)
	}
}

// inWords tells one effect in full below the line.
func (p *effects) inWords(c *chart.Canvas, e *profiles.Effect) {
	_, h := c.Size()
	text := fmt.Sprintf("%s at iteration %d, %s after the start: ", p.what(e), e.Iteration, clock(e.At))
	switch {
	case !e.Enough && e.Needed > 0 && !e.Closed:
		text += fmt.Sprintf("%d iterations before, %d after; %d more are needed.", e.NBefore, e.NAfter, e.Needed)
	case !e.Enough:
		text += tooFew(e)
	default:
		text += fmt.Sprintf("an iteration takes %s ms instead of %s, %s (95 %% interval %s to %s %%), from %d iterations before and %d after%s. %s",
			trim(milliseconds(e.AfterNS)), trim(milliseconds(e.BeforeNS)), trim(signedPercent(e.Shift)),
			signed(100*e.Low, 1), signed(100*e.High, 1), e.NBefore, e.NAfter, leftOut(e), reading(e))
	}
	if reason := p.snap.Load.Reason; reason != "" {
		text += " What other programs took is not known: " + reason + "."
	}
	y := writeWrapped(c, 0, 1, h-1, text, theme.Plain)
	if e.Confounded != "" && e.Enough {
		but := "But: " + e.Confounded + "."
		if e.Disturbed {
			but += " That share of the processors may be all there is to it. On a busy machine A compares, in balanced blocks."
		}
		writeWrapped(c, 0, y, h-y, but, theme.Warn)
	}
}

// tooFew says why an effect will never be told.
func tooFew(e *profiles.Effect) string {
	if e.Needed <= 0 {
		return fmt.Sprintf("%s ran before it that can be compared, and 20 are needed. Change it back, let it run, and change it again.",
			plural(int64(e.NBefore), "iteration", "iterations"))
	}
	return fmt.Sprintf("%s ran after it that can be compared, and 20 are needed. Change it again and leave it for longer.",
		plural(int64(e.NAfter), "iteration", "iterations"))
}

// leftOut tells of the iterations that others disturbed.
func leftOut(e *profiles.Effect) string {
	if e.LeftOut == 0 {
		return ""
	}
	return fmt.Sprintf(", without %d that other programs disturbed", e.LeftOut)
}

// reading says what an interval and a drift of quality mean.
func reading(e *profiles.Effect) string {
	text := "No difference was seen."
	switch {
	case e.Confounded != "":
		text = ""
	case e.High < 0:
		text = "That is faster."
	case e.Low > 0:
		text = "That is slower."
	}
	if !e.HasQuality {
		return strings.TrimSpace(text + " Quality was not measured on both sides.")
	}
	return strings.TrimSpace(fmt.Sprintf("%s Training went on meanwhile: PSNR %s dB.", text, drift(e.QualityDrift)))
}

// drift is a difference in dB; what rounds to 0 has no sign.
func drift(v float64) string {
	if math.Abs(v) < 0.005 {
		return "0.00"
	}
	return signed(v, 2)
}
