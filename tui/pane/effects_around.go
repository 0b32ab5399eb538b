package pane

import (
	"fmt"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// The chart of the iterations around the selected change, if there is room for it below the table of effects.

// Minimum and maximum height of the chart, including its title.
const (
	aroundLeast = 8
	aroundMost  = 40
)

// aroundReach is the number of iterations shown on either side of a change: more than are
// compared, to show the context.
const aroundReach = 300

// around charts the iterations before and after a change, with the median before it as a
// horizontal reference line. It draws nothing if there is no room or no time series.
func (p *effects) around(c *chart.Canvas, s *profiles.Snapshot, e *profiles.Effect) {
	w, h := c.Size()
	if h < aroundLeast {
		return
	}
	reach := int64(aroundReach)
	for _, point := range s.IterationTime { // buckets of a long run hold several iterations
		reach = max(reach, 20*(point.Last-point.First+1))
	}
	curve := s.IterationTime.Between(e.Iteration-reach, e.Iteration+reach)
	p.ceiling = chart.Ceiling(curve, p.ceiling)
	line := chart.Line{
		Series: []chart.Series{{Curve: curve, Style: theme.Line, Envelope: true, EnvelopeStyle: theme.Envelope}},
		From:   max(e.Iteration-reach, 0), To: e.Iteration + reach, Ceiling: p.ceiling,
		Marks: marks(p.host.Keys, s), Label: unit.AxisLabel, LabelWidth: AxisLabelWidth,
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
