package pane

import (
	"fmt"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// The pane of the log with the active alerts above it, and the style of alerts.

// Log specifies the pane of the run's log and alerts.
var Log = Spec{
	Name:  "log",
	Shape: layout.Shape{Width: layout.Extent{Least: 36, Good: 52, Most: 100, Weight: 4}, Height: layout.Extent{Least: 4, Good: 9, Most: 13, Weight: 1}},
	New:   func(h Host) Pane { return newLog(h) },
}

// log shows the log, newest last, below the active alerts.
type log struct {
	Box
	back   int // entries below the last visible one; 0 follows the newest
	height int // rows when last drawn
	rows   []logRow
	of     logKey
	host   Host
}

// logRow is one row of an entry; only the first has a time.
type logRow struct {
	at    string
	text  string
	entry int
}

// logKey identifies the input that the rows were made from.
type logKey struct {
	n, w   int
	newest profiles.LogLine
}

func newLog(h Host) *log {
	return &log{Box: Box{Title: "Log"}, host: h}
}

// Cells returns the pane as it is on the screen.
func (p *log) Cells() *chart.Canvas { return p.Render(p.draw) }

// Hints returns the keys that scroll.
func (p *log) Hints() []Hint { return []Hint{{"↑↓", "scroll"}, {"end", "newest"}} }

// Explain describes the log and the alerts.
func (p *log) Explain() []string { return explanations.Of("log") }

// Press scrolls; end returns to the newest line.
func (p *log) Press(key string) bool {
	by, ok := widget.Paged(key, p.height-1, p.of.n)
	if !ok {
		return false
	}
	p.back = max(0, min(p.back-by, p.of.n-1))
	p.Stale = true
	return true
}

// Update keeps the visible lines in place while the user has scrolled back.
func (p *log) Update(s *profiles.Snapshot) {
	if p.back > 0 && p.Snap != nil && p.Snap != s {
		p.back += len(words.NewLines(p.Snap, s))
	}
	p.Box.Update(s)
}

func (p *log) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	top := p.alerts(c, s)
	if len(s.Log) == 0 {
		p.of = logKey{}
		if top < h {
			rest := c.Sub(0, top, w, h-top)
			Message(&rest, "nothing else was told"+words.Yet(s))
		}
		return "", theme.Faint
	}
	p.wrap(s.Log, w)
	p.height = h - top
	last := len(p.rows)
	p.back = min(p.back, len(s.Log)-1)
	for last > 0 && p.rows[last-1].entry > len(s.Log)-1-p.back {
		last--
	}
	if last < p.height { // at the beginning: fill the pane
		last = min(p.height, len(p.rows))
	}
	first := max(0, last-p.height)
	for y, r := range p.rows[first:last] {
		c.Text(0, top+y, r.at, theme.Faint)
		c.Text(logIndent, top+y, r.text, theme.Plain)
	}
	if last < len(p.rows) {
		newer := len(s.Log) - 1 - p.rows[last-1].entry
		if newer > 0 {
			return fmt.Sprintf("%d newer · end: newest", newer), theme.Strong
		}
		return "goes on below · end: newest", theme.Strong
	}
	if first > 0 && first < len(p.rows) {
		return fmt.Sprintf("%d earlier", p.rows[first].entry), theme.Faint
	}
	return "", theme.Faint
}

// Columns where texts begin, after the times.
const (
	logIndent   = 9
	alertIndent = logIndent + 2 // after the severity mark
)

// wrap rebuilds the rows if the log or the width changed.
func (p *log) wrap(entries []profiles.LogLine, w int) {
	key := logKey{len(entries), w, entries[len(entries)-1]}
	if key == p.of {
		return
	}
	p.of, p.rows = key, p.rows[:0]
	for i, e := range entries {
		at := unit.Clock(e.At)
		for _, text := range words.Wrap(visible.Text(e.Text), w-logIndent) {
			p.rows = append(p.rows, logRow{at, chart.Cut(text, w-logIndent), i})
			at = ""
		}
	}
}

// alertDetail is the level of detail for alerts.
type alertDetail uint8

const (
	whatAndTry alertDetail = iota
	onlyWhat
	oneRow
)

// alertRows formats an alert in rows of w cells; what is the number of rows that name the alert.
func (p *log) alertRows(a profiles.Alert, w int, d alertDetail) (rows []string, what int) {
	if d == oneRow {
		return []string{chart.Cut(a.What, w)}, 1
	}
	rows = words.Wrap(a.What, w)
	what = len(rows)
	if d == whatAndTry {
		rows = append(rows, words.Wrap(p.host.Keys().Say(a.Try), w)...)
	}
	return rows, what
}

// alertsIn returns the level of detail at which the alerts of a snapshot fit into most rows of w
// cells, and whether all of them fit. If they do not, the worst gets a whole sentence where
// possible.
func (p *log) alertsIn(s *profiles.Snapshot, w, most int) (d alertDetail, all bool) {
	for ; d < oneRow; d++ {
		n := 0
		for _, a := range s.Alerts {
			rows, _ := p.alertRows(a, w, d)
			n += len(rows)
		}
		if n <= most {
			return d, true
		}
	}
	if worst, _ := p.alertRows(s.Alerts[0], w, onlyWhat); len(worst) < most {
		return onlyWhat, false
	}
	return oneRow, len(s.Alerts) <= most
}

// alerts writes the active alerts, with as much detail as fits into two thirds of the pane, and
// returns the next free row.
func (p *log) alerts(c *chart.Canvas, s *profiles.Snapshot) int {
	if len(s.Alerts) == 0 {
		return 0
	}
	w, h := c.Size()
	most := max(1, (h-1)*2/3)
	detail, all := p.alertsIn(s, w-alertIndent, most)
	last := most
	if !all { // a row for the number of the remaining ones
		last--
	}
	y := 0
	for i, a := range s.Alerts {
		rows, what := p.alertRows(a, w-alertIndent, detail)
		if y+len(rows) > last {
			y = p.moreAlerts(c, y, len(s.Alerts)-i, a.Severity)
			break
		}
		c.Text(0, y, unit.Clock(a.Since), theme.Faint)
		c.Set(logIndent, y, AlertGlyph(a.Severity), AlertStyle(a.Severity))
		for j, text := range rows {
			style := theme.Plain
			if j < what {
				style = AlertStyle(a.Severity)
			}
			c.Text(alertIndent, y, chart.Cut(text, w-alertIndent), style)
			y++
		}
	}
	if y > 0 && y < h {
		c.Fill(0, y, w, 1, '╌', theme.Border)
		y++
	}
	return y
}

// moreAlerts writes the number of alerts that do not fit, in the style of the worst severity
// among them, and the key that lists them. It returns the next row.
func (p *log) moreAlerts(c *chart.Canvas, y, n int, worst profiles.Severity) int {
	w, _ := c.Size()
	text, key := unit.About(int64(n), "alert", "alerts"), p.host.Keys().Of("alerts")
	if y > 0 {
		text = unit.About(int64(n), "more alert", "more alerts")
	}
	c.Set(logIndent, y, AlertGlyph(worst), AlertStyle(worst))
	c.Text(alertIndent, y, words.FittingOrLast(w-alertIndent, text+": "+key+" lists them", text+": "+key),
		AlertStyle(worst))
	return y + 1
}

// AlertStyle returns the style of a severity.
func AlertStyle(s profiles.Severity) theme.Style {
	switch s {
	case profiles.Critical:
		return theme.Bad
	case profiles.Warning:
		return theme.Warn
	}
	return theme.Faint
}

// AlertGlyph marks a severity without colour.
func AlertGlyph(s profiles.Severity) rune {
	switch s {
	case profiles.Critical:
		return '✗'
	case profiles.Warning:
		return '▴'
	}
	return '·'
}
