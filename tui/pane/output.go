package pane

import (
	"fmt"

	"prismtop/profiles"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// Output specifies the pane of what the program of a loop prints.
var Output = Spec{
	Name:  "output",
	Shape: layout.Shape{Width: layout.Extent{Least: 36, Good: 60, Most: 140, Weight: 4}, Height: layout.Extent{Least: 3, Good: 6, Most: 14, Weight: 1}},
	Needs: func(r *profiles.RunInfo) bool { return r.Prints },
	New:   func(Host) Pane { return &output{Box: Box{Title: "Output"}} },
}

// output shows the newest lines that a program printed.
type output struct {
	Box
	back   int // lines below the last visible one; 0 follows the newest
	height int // rows when last drawn
	lines  int
}

// Cells returns the pane as it is on the screen.
func (p *output) Cells() *chart.Canvas { return p.Render(p.draw) }

// Hints returns the keys that scroll.
func (p *output) Hints() []Hint { return []Hint{{"↑↓", "scroll"}, {"end", "newest"}} }

// Explain describes the output.
func (p *output) Explain() []string { return explanations.Of("output") }

// Press scrolls; end returns to the newest line.
func (p *output) Press(key string) bool {
	by, ok := widget.Paged(key, p.height-1, p.lines)
	if !ok {
		return false
	}
	p.back = max(0, min(p.back-by, p.lines-p.height))
	p.Stale = true
	return true
}

func (p *output) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	p.height = h
	if s.Output == nil || len(s.Output.Lines) == 0 {
		p.lines = 0
		Message(c, "nothing was printed"+words.Yet(s))
		return "", theme.Faint
	}
	lines := s.Output.Lines
	p.lines = len(lines)
	p.back = max(0, min(p.back, p.lines-h))
	last := len(lines) - p.back
	for y, text := range lines[max(0, last-h):last] {
		c.Text(0, y, chart.Cut(visible.Text(text), w), theme.Plain)
	}
	if p.back > 0 {
		return fmt.Sprintf("%d newer · end: newest", p.back), theme.Strong
	}
	if before := s.Output.Printed - int64(min(len(lines), h)); before > 0 {
		return fmt.Sprintf("%d earlier", before), theme.Faint
	}
	return "", theme.Faint
}
