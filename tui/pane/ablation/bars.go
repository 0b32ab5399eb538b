package ablation

import (
	"math"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// This file fills a tall ablation pane below its table: bars of both medians of each setting,
// and how they are measured.

// Columns of the bars.
const (
	barState = 22 // start of off and on
	barTime  = 33 // end of the medians
)

// below draws the bars between row y and end if those of all settings fit, and the explanation
// if that fits too.
func (p *view) below(c *chart.Canvas, y, end int, a *profiles.Ablation) {
	w, _ := c.Size()
	each := 3
	if len(a.Rows)*each+2 > end-y {
		each = 2
	}
	if len(a.Rows) > 0 && len(a.Rows)*each+2 <= end-y {
		y = p.medians(c, y+1, each, a) + 1
	}
	p.method(c, y, end, min(w, 2*pane.ProseWidth))
}

// medians draws two bars for each setting, each lines apart, and returns the next free row.
func (p *view) medians(c *chart.Canvas, y, each int, a *profiles.Ablation) int {
	w, _ := c.Size()
	room, longest := float64(w-barTime-1), 0.0
	for i := range a.Rows {
		for _, ns := range []float64{a.Rows[i].OffNS, a.Rows[i].OnNS} {
			if ns > longest && !math.IsInf(ns, 0) {
				longest = ns
			}
		}
	}
	c.Text(2, y, "medians of an iteration in ms, with the setting off and on", theme.Axis)
	y++
	for i := range a.Rows {
		r := &a.Rows[i]
		c.Text(2, y, chart.Cut(r.Name(), barState-3), theme.Plain)
		for i, bar := range []struct {
			state string
			ns    float64
			style theme.Style
		}{{"off", r.OffNS, theme.Faint}, {"on", r.OnNS, pane.JudgementStyle(r)}} {
			c.Text(barState, y+i, bar.state, theme.Faint)
			c.TextRight(barTime, y+i, unit.Milliseconds(bar.ns), theme.Plain)
			if longest > 0 {
				c.Bar(barTime+1, y+i, int(room), bar.ns/longest*room, bar.style)
			}
		}
		y += each
	}
	return y
}

// method writes the pane's explanation in lines of w cells if all of it fits.
func (p *view) method(c *chart.Canvas, y, end, w int) {
	var lines []string
	for _, paragraph := range p.Explain() {
		lines = append(lines, words.Wrap(p.host.Keys().Say(profiles.Advice(paragraph)), w-4)...)
	}
	if len(lines)+2 > end-y {
		return
	}
	c.Fill(0, y, w, 1, '╌', theme.Border)
	for i, line := range lines {
		c.Text(2, y+1+i, line, theme.Faint)
	}
}
