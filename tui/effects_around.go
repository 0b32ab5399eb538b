package tui

import (
	"fmt"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// This file draws the time of the iterations about the picked change, where a pane of
// effects has room below its table.

// Rows that the chart wants, with its title, and can use.
const (
	aroundLeast = 8
	aroundMost  = 40
)

// aroundReach is how many iterations the chart shows on either side of a change: more
// than what is compared, so that what else went on is seen.
const aroundReach = 300

// around draws the iterations before and after a change, with the median before it as a
// line to compare with; nothing where there is no room or no time to draw.
func (p *effects) around(c *chart.Canvas, s *profiles.Snapshot, e *profiles.Effect) {
	w, h := c.Size()
	if h < aroundLeast {
		return
	}
	reach := int64(aroundReach)
	for _, point := range s.IterationTime { // buckets of a long run are longer
		reach = max(reach, 20*(point.Last-point.First+1))
	}
	curve := s.IterationTime.Between(e.Iteration-reach, e.Iteration+reach)
	p.ceiling = chart.Ceiling(curve, p.ceiling)
	line := chart.Line{
		Series: []chart.Series{{Curve: curve, Style: theme.Line, Envelope: true, EnvelopeStyle: theme.Envelope}},
		From:   max(e.Iteration-reach, 0), To: e.Iteration + reach, Ceiling: p.ceiling,
		Marks: marks(s), Label: unit.AxisLabel, LabelWidth: axisLabelWidth,
	}
	title := fmt.Sprintf("ms about iteration %d", e.Iteration)
	if e.Enough {
		line.Threshold = e.BeforeNS / 1e6
		title += "; ╌ the median before it"
	}
	plot := c.Sub(0, 1, w, min(h, aroundMost)-1)
	if line.Draw(&plot) {
		c.Text(2, 0, chart.Cut(title, w-2), theme.Faint)
	}
}
