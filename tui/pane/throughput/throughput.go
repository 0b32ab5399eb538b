// Package throughput provides the panes of runs whose iterations are batches: what each batch size
// that was run has given, and how the auto-tuner chose among them.
package throughput

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The panes of throughput and memory over the batch size, and what the tuner chose.

// Pane specifies the pane of the throughput over the batch size, and Memory that of the memory.
var (
	Pane = pane.Spec{
		Name:  "throughput",
		Shape: layout.Shape{Width: layout.Extent{Least: 34, Good: 48, Most: 90, Weight: 4}, Height: layout.Extent{Least: 6, Good: 10, Most: 20, Weight: 3}},
		Needs: batched,
		New:   func(h pane.Host) pane.Pane { return newView(h, rate) },
	}
	Memory = pane.Spec{
		Name:  "footprint",
		Shape: layout.Shape{Width: layout.Extent{Least: 34, Good: 40, Most: 70, Weight: 2}, Height: layout.Extent{Least: 5, Good: 8, Most: 16, Weight: 2}},
		Needs: batched,
		New:   func(h pane.Host) pane.Pane { return newView(h, memory) },
	}
)

func batched(r *profiles.RunInfo) bool { return r.Schema.Item.One != "" }

// quantity is a number of each batch size.
type quantity uint8

const (
	rate quantity = iota
	latency
	memory
	efficiency
	quantities
)

// view draws a quantity of each batch size, a row each.
type view struct {
	pane.Box
	host pane.Host
	of   quantity
}

func newView(h pane.Host, of quantity) *view {
	return &view{Box: pane.Box{Past: true}, host: h, of: of}
}

// Cells returns the pane as it is on the screen.
func (p *view) Cells() *chart.Canvas {
	items := "items"
	if p.Snap != nil && batched(&p.Snap.Run) {
		items = p.Snap.Run.Schema.Item.Many
	}
	p.Title = [quantities]string{"Throughput, " + items + "/s", "Latency of a batch, ms", "Memory by batch size",
		"Efficiency, " + items + "/s/MB"}[p.of]
	return p.Render(p.draw)
}

// Press goes to the next quantity (v).
func (p *view) Press(key string) bool {
	if key != "v" {
		return false
	}
	p.of = (p.of + 1) % quantities
	p.Stale = true
	return true
}

// Hints returns the key of Press.
func (p *view) Hints() []pane.Hint {
	return []pane.Hint{{Key: "v", Does: "latency, memory, efficiency"}}
}

//go:embed explain.md
var explainMarkdown string

// explanations are the texts of the throughput panes.
var explanations = pane.ParseExplanations(explainMarkdown)

// Explain describes the quantities.
func (p *view) Explain() []string { return explanations.Of("throughput") }

// value returns a quantity of a size with its interval, which is infinite where it has none.
func (q quantity) value(b *profiles.BatchView) (at, low, high float64) {
	switch q {
	case latency:
		second := 1000 * float64(b.Size)
		return b.Latency / 1e6, second / b.High, second / b.Low
	case memory:
		at = float64(b.Bytes)
		return at, at, at
	case efficiency:
		share := b.Efficiency() / b.PerSecond
		return b.Efficiency(), b.Low * share, b.High * share
	}
	return b.PerSecond, b.Low, b.High
}

// text formats a value.
func (q quantity) text(v float64) string {
	switch {
	case q == memory && v > 0:
		return unit.Size(int64(v))
	case math.IsNaN(v) || math.IsInf(v, 0) || q == memory:
		return "–"
	}
	return strings.TrimSpace(unit.Fixed(v, 5))
}

// Widths of the columns: a mark and a size, a value, an interval.
const (
	sizeWidth     = 6
	valueWidth    = 9
	intervalWidth = 16
	plotWidth     = 12
)

func (p *view) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	note, style := tunerNote(s, p.EdgeRoom())
	if len(s.Batches) == 0 {
		pane.Message(c, "no stretch of batches"+words.Yet(s))
		return note, style
	}
	limit := 0.0
	if p.of == memory {
		limit = float64(s.Settings.Int(settings.MemoryLimit)) * (1 << 20)
	}
	rows := visibleRows(s, h)
	top := limit
	for i := range rows {
		at, _, high := p.of.value(&rows[i])
		top = max(top, at)
		if !math.IsInf(high, 0) {
			top = max(top, min(high, 2*at))
		}
	}
	if limit > 0 {
		p.Aside("limit "+p.of.text(limit), theme.Threshold)
	}
	best := fastest(s.Batches)
	intervals := w >= sizeWidth+valueWidth+intervalWidth+plotWidth && p.of != memory
	for y := range rows {
		p.row(c, y, &rows[y], s, rows[y].Size == best, intervals, top, limit)
	}
	return note, style
}

// row draws a size.
func (p *view) row(c *chart.Canvas, y int, b *profiles.BatchView, s *profiles.Snapshot, best, intervals bool, top,
	limit float64) {
	w, _ := c.Size()
	at, low, high := p.of.value(b)
	mark, style := markOf(s, b.Size)
	c.Text(0, y, mark, style)
	c.TextRight(sizeWidth-1, y, strconv.Itoa(b.Size), theme.Plain)
	x, shown := sizeWidth, theme.Plain
	if best && p.of != memory {
		shown = theme.Strong
	}
	if limit > 0 && at > limit {
		shown = theme.Bad
	}
	c.TextRight(x+valueWidth, y, p.of.text(at), shown)
	x += valueWidth + 1
	bounded := !math.IsInf(low, 0) && !math.IsInf(high, 0)
	if intervals {
		text := "–"
		if bounded {
			text = fmt.Sprintf("[%s, %s]", p.of.text(low), p.of.text(high))
		}
		c.Text(x, y, chart.Cut(text, intervalWidth), theme.Faint)
		x += intervalWidth + 1
	}
	plot := c.Sub(x, y, w-x, 1)
	width, _ := plot.Size()
	if width < 4 || !(top > 0) {
		return
	}
	place := func(v float64) int { return min(max(int(v/top*float64(width-1)+0.5), 0), width-1) }
	if p.of == memory {
		plot.Bar(0, 0, width, at/top*float64(width), theme.Memory)
		if limit > 0 {
			plot.Set(place(limit), 0, '│', theme.Threshold)
		}
		return
	}
	if bounded {
		for i := place(low); i <= place(high); i++ {
			plot.Set(i, 0, '─', theme.Envelope)
		}
	}
	plot.Set(place(at), 0, '●', shown)
}

// markOf returns the mark of a size: in force, compared by the tuner, or chosen by it.
func markOf(s *profiles.Snapshot, size int) (string, theme.Style) {
	t := tuning(s)
	switch {
	case t != nil && s.Ablation.Running && size == t.Candidate:
		return "?", theme.Pending
	case t != nil && s.Ablation.Running && size == t.Best:
		return "▸", theme.Strong
	case t != nil && s.Ablation.Running:
		return " ", theme.Plain
	case t != nil && size == t.Chosen && size == s.Settings.Int(settings.BatchSize):
		return "✓", theme.Good
	case size == s.Settings.Int(settings.BatchSize):
		return "▸", theme.Strong
	}
	return " ", theme.Plain
}

// tuning returns the newest search of the auto-tuner, nil for none.
func tuning(s *profiles.Snapshot) *profiles.Tuning {
	if s.Ablation == nil {
		return nil
	}
	return s.Ablation.Tuning
}

// visibleRows returns the sizes that fit into rows: those nearest to the one in force.
func visibleRows(s *profiles.Snapshot, rows int) []profiles.BatchView {
	all, now := s.Batches, s.Settings.Int(settings.BatchSize)
	if t := tuning(s); t != nil && s.Ablation.Running {
		now = t.Best
	}
	if len(all) <= rows {
		return all
	}
	at := 0
	for at < len(all)-1 && all[at].Size < now {
		at++
	}
	first := min(max(at-rows/2, 0), len(all)-rows)
	return all[first : first+rows]
}

// fastest returns the size of the highest throughput.
func fastest(all []profiles.BatchView) (size int) {
	most := 0.0
	for i := range all {
		if all[i].PerSecond > most {
			size, most = all[i].Size, all[i].PerSecond
		}
	}
	return size
}

// tunerNote describes the auto-tuner in w cells: what it compares, or why it stopped.
func tunerNote(s *profiles.Snapshot, w int) (string, theme.Style) {
	t := tuning(s)
	if t == nil {
		return "", theme.Faint
	}
	a := s.Ablation
	if !a.Running {
		return words.FittingOrLast(w, "tuner: "+a.Ended, a.Ended), theme.Faint
	}
	if len(a.Rows) == 0 {
		return "tuner", theme.Pending
	}
	r := &a.Rows[len(a.Rows)-1]
	text := fmt.Sprintf("tuner: %s against %s", r.On, r.Off)
	long := fmt.Sprintf("%s, %s", text, unit.Plural(r.Groups, "pair", "pairs"))
	if !math.IsNaN(r.Effect) {
		return words.FittingOrLast(w, long+": time "+strings.TrimSpace(unit.SignedPercent(r.Effect)), long, text),
			theme.Pending
	}
	return words.FittingOrLast(w, long, text), theme.Pending
}
