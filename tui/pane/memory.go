package pane

import (
	"fmt"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The pane of the memory: bars of its categories, or a line each for GPU, process and caches. Its ledger is in
// ledger.go, its chart in memory_history.go.

// Memory specifies the pane of the memory used by the run, the process and the GPU.
var Memory = Spec{
	Name:  "memory",
	Shape: layout.Shape{Width: layout.Extent{Least: 22, Good: 36, Most: 48, Weight: 1}, Height: layout.Extent{Least: 6, Good: 11, Most: 13, Weight: 2}},
	Roomy: layout.Shape{Width: layout.Extent{Least: 22, Good: 52, Most: 100, Weight: 3}, Height: layout.Extent{Least: 6, Good: 12, Most: memoryBothHeight + 4, Weight: 3}},
	New:   func(h Host) Pane { return newMemory(h) },
}

// memory shows the run's memory by category and that of the process and the GPU, now and over
// the run.
type memory struct {
	Box
	Timeline
	over    bool // the chart over the run instead of the bars
	ceiling float64
}

func newMemory(h Host) *memory {
	return &memory{Box: Box{Title: "Memory"}, Timeline: Timeline{Keys: h.Keys}}
}

// Cells returns the pane as it is on the screen.
func (p *memory) Cells() *chart.Canvas { return p.Render(p.draw) }

// Press switches between bars and chart (v); the chart's cursor, scrolling and zoom have the
// usual keys.
func (p *memory) Press(key string) bool {
	if key == "v" {
		p.over = !p.over
		p.Stale = true
		return true
	}
	return (p.over || p.both()) && p.ChartKey(&p.Box, key)
}

// Hints returns the keys of the views, and those of the chart if it is visible.
func (p *memory) Hints() []Hint {
	switch {
	case p.both():
		return p.ChartHints()
	case p.over:
		return append([]Hint{{"v", "now"}}, p.ChartHints()...)
	}
	return []Hint{{"v", "over the run"}}
}

// Explain describes the categories and how leaks are detected.
func (p *memory) Explain() []string { return explanations.Of("memory") }

type memoryRow struct {
	name  string
	bytes int64
}

// memoryRows returns the categories of the schema and the caches in at most rows rows: it first
// sums up the last buffers, then all buffers, then the parameters.
func memoryRows(s *profiles.Schema, m profiles.MemoryView, rows int) []memoryRow {
	var all []memoryRow
	parameters := 0
	for i, info := range s.Memory {
		all = append(all, memoryRow{info.Name, m.Parts[i]})
		if info.Parameters {
			parameters++
		}
	}
	buffers := len(all)
	all = append(all, memoryRow{"caches", m.Caches})
	if rows >= len(all) {
		return all
	}
	sum := func(name string, part []memoryRow) memoryRow {
		r := memoryRow{name: name}
		for _, v := range part {
			r.bytes += v.bytes
		}
		return r
	}
	switch kept := rows - 2; { // besides the sum of the buffers and the caches
	case kept >= parameters:
		return append(slices.Clone(all[:kept]), sum("buffers", all[kept:buffers]), all[buffers])
	case rows >= 3:
		return []memoryRow{sum("parameters", all[:parameters]), sum("buffers", all[parameters:buffers]), all[buffers]}
	}
	return []memoryRow{sum("run", all)}
}

// memoryBothHeight is the minimum inner height at which bars and chart are drawn together.
const memoryBothHeight = 20

// memoryBarsHeight is the height of the bars when drawn with the chart.
const memoryBarsHeight = 9

func (p *memory) both() bool {
	_, h := p.Canvas.Size()
	return h-2 >= memoryBothHeight
}

func (p *memory) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	switch {
	case p.both():
		above := memoryBarsHeight
		if l, ok := s.Ledger(); ok {
			above = min(len(l.Entries)+2, h-memoryBothHeight+memoryBarsHeight)
		}
		bars := c.Sub(0, 0, w, above)
		p.bars(&bars, s)
		rest := c.Sub(0, above+1, w, h-above-1)
		return p.history(&rest, s)
	case p.over:
		return p.history(c, s)
	case h <= memoryBriefHeight:
		p.brief(c, s)
		return "", theme.Faint
	}
	told := p.bars(c, s)
	if text, style := slopeShort(s); style == theme.Warn && !told {
		return text, style
	}
	if p.Focus {
		return "v: over the run", theme.Faint
	}
	return "", theme.Faint
}

// memoryBriefHeight is the inner height up to which the pane has a line each for the GPU, the process and
// the caches, or the run where it has none.
const memoryBriefHeight = 3

// brief draws these lines, as many as fit.
func (p *memory) brief(c *chart.Canvas, s *profiles.Snapshot) {
	w, _ := c.Size()
	const label = 8
	c.Text(0, 0, "GPU", theme.Plain)
	used, reason := "", ""
	if l, ok := s.Ledger(); ok && l.Used.Known {
		used = usedText(&l)
	} else if ok {
		reason = l.Used.Reason
	} else if len(s.Sensors.GPUs) > 0 {
		used = words.CardMemory(&s.Sensors.GPUs[0], 0, w-label)
	} else {
		reason = gpuReason(s)
	}
	if used != "" {
		c.Text(label, 0, chart.Cut(used, w-label), theme.Strong)
	} else {
		root := reason[strings.LastIndex(reason, ": ")+1:]
		c.Text(4, 0, chart.Cut(words.FittingOrLast(w-4, "n/a: "+reason, "n/a:"+root, "n/a: "+strings.TrimSpace(root)),
			w-4), theme.Faint)
	}
	c.Text(0, 1, "host", theme.Plain)
	switch m := s.Memory; {
	case m.Reason != "":
		c.Text(gpuColumn, 1, chart.Cut("n/a: "+m.Reason, w-gpuColumn), theme.Faint)
	case m.RSS > 0:
		x := c.Text(label, 1, unit.Size(m.RSS), theme.Strong)
		text, style := slopeShort(s)
		if style != theme.Warn {
			text, style = "peak "+unit.Size(m.PeakRSS), theme.Faint
		}
		c.Text(x+2, 1, words.Fitting(w-x-2, text, ""), style)
	default:
		c.Text(label, 1, "not read"+words.Yet(s), theme.Faint)
	}
	own := memoryRows(&s.Run.Schema, s.Memory, 1)[0] // the sum
	if len(s.Run.Schema.Caches) > 0 {
		own = memoryRow{"caches", s.Memory.Caches}
	}
	c.Text(0, 2, own.name, theme.Plain)
	c.Text(label, 2, unit.Size(own.bytes), theme.Strong)
}

// bars draws the current memory, and reports whether there was room for the slope.
func (p *memory) bars(c *chart.Canvas, s *profiles.Snapshot) (told bool) {
	if l, ok := s.Ledger(); ok {
		return p.ledger(c, s, &l)
	}
	w, h := c.Size()
	m := s.Memory
	cards := cardLines(s, w)
	if len(cards) > 2 && h < 12 {
		cards = append(cards[:1], fmt.Sprintf("and %d more GPUs", len(cards)-1))
	}
	foot := 1 + len(cards)
	if len(cards) == 1 && chart.Width(cards[0]) > w && h >= 6 {
		foot = 3
	}
	rows := memoryRows(&s.Run.Schema, m, h-foot)
	places := len(rows)
	most := int64(0)
	for _, r := range rows {
		most = max(most, r.bytes)
	}
	if most == 0 {
		rows = nil
		c.Text(0, 0, "no plan"+words.Yet(s), theme.Faint)
	}
	const number = 8
	name := 11
	for _, r := range rows {
		name = max(name, min(chart.Width(r.name), w-number))
	}
	for y, r := range rows {
		c.Text(0, y, chart.Cut(r.name, name), theme.Plain)
		c.TextRight(name+number, y, unit.Bytes(r.bytes), theme.Strong)
		if room := w - name - number - 1; room > 2 && most > 0 {
			c.Bar(name+number+1, y, room, float64(r.bytes)/float64(most)*float64(room), theme.Memory)
		}
	}
	y := max(1, min(h-foot, places+1))
	c.Text(0, y, "host", theme.Plain)
	switch {
	case m.Reason != "":
		c.Text(gpuColumn, y, chart.Cut("n/a: "+m.Reason, w-gpuColumn), theme.Faint)
	case m.RSS > 0:
		c.TextRight(name+number, y, unit.Bytes(m.RSS), theme.Strong)
		peak := "peak " + unit.Size(m.PeakRSS)
		text := words.Fitting(w-name-number-1, peak, "")
		slope, style := slopeShort(s)
		x := c.Text(name+number+1, y, text, theme.Faint)
		if told = text != "" && x+3+chart.Width(slope) <= w; told {
			c.Text(x+2, y, slope, style)
		}
	default:
		c.Text(gpuColumn, y, "not read"+words.Yet(s), theme.Faint)
	}
	for i, card := range cards {
		name, text, _ := strings.Cut(card, "  ")
		x := c.Text(0, y+1+i, name, theme.Plain)
		if text != "" {
			WriteWrapped(c, x+2, y+1+i, h-y-len(cards)+i, text, theme.Faint)
		}
	}
	return told
}

// gpuColumn is the column of the reason why a value of the host cannot be read.
const gpuColumn = 5

// gpuReason explains why no GPU memory is shown.
func gpuReason(s *profiles.Snapshot) string {
	switch {
	case s.Memory.GPUReason != "":
		return s.Memory.GPUReason
	case s.Run.GPUReason != "":
		return s.Run.GPUReason
	}
	return "not read" + words.Yet(s)
}
