package tasks

import (
	"fmt"
	"strconv"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The pane of the losses of all tasks.

// Losses specifies the pane of the losses of all tasks over each other.
var Losses = pane.Spec{
	Name:  "task losses",
	Shape: layout.Shape{Width: layout.Extent{Least: 36, Good: 48, Most: 120, Weight: 5}, Height: layout.Extent{Least: 6, Good: 9, Most: 16, Weight: 3}},
	Needs: func(r *profiles.RunInfo) bool {
		return listed(r) && len(r.Schema.Group(profiles.Losses)) > 0
	},
	Late: true,
	New:  func(pane.Host) pane.Pane { return &losses{Box: pane.Box{Title: "Losses of the tasks"}, log: true} },
}

// losses charts the loss of the newest round of every task over the iterations of the task.
type losses struct {
	pane.Box
	log     bool
	ceiling float64
	decades [2]float64
}

// Cells returns the pane as it is on the screen.
func (p *losses) Cells() *chart.Canvas { return p.Render(p.draw) }

// Hints returns the key of the axis.
func (p *losses) Hints() []pane.Hint { return []pane.Hint{{Key: "x", Does: "linear, log"}} }

// Press switches the axis.
func (p *losses) Press(key string) bool {
	if key != "x" {
		return false
	}
	p.log, p.Stale = !p.log, true
	return true
}

// Explain describes the chart.
func (p *losses) Explain() []string { return explanations.Of("losses") }

// curveOf is the loss of a task's newest round.
type curveOf struct {
	task  int
	curve profiles.Curve
}

// curvesOf returns the losses of all tasks, from the first iteration of each round on.
func curvesOf(s *profiles.Snapshot) (all []curveOf) {
	t := s.Tasks
	if t == nil {
		return nil
	}
	whole := s.Of(t.Loss).Curve
	newest := map[int]profiles.Curve{}
	take := func(unit int, first, last int64) {
		task := t.TaskOf(unit)
		if task < 0 {
			return
		}
		var part profiles.Curve
		for _, point := range whole.Between(first, last) {
			if point.First >= first && point.Last <= last {
				point.First, point.Last = point.First-first, point.Last-first
				part = append(part, point)
			}
		}
		if len(part) > 0 {
			newest[task] = part
		}
	}
	first := s.Earlier.Iterations
	for i := range s.Results {
		n := int64(s.Results[i].Iterations)
		take(int(s.Results[i].Unit), first, first+n-1)
		first += n
	}
	if s.Index > first { // the one under way
		take(s.Unit, first, s.Index-1)
	}
	for i := range t.List {
		if curve := newest[i]; curve != nil {
			all = append(all, curveOf{i, curve})
		}
	}
	return all
}

func (p *losses) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	all := curvesOf(s)
	line := chart.Line{Log: p.log, Label: unit.AxisLabel, LabelWidth: pane.AxisLabelWidth,
		XLabel: func(i int64) string { return strconv.FormatInt(i, 10) }}
	curves := make([]profiles.Curve, len(all))
	for i, one := range all {
		curves[i] = one.curve
		line.Series = append(line.Series, chart.Series{Curve: one.curve, Style: styleOf(one.task),
			Dash: chart.DashedWhen(p.Theme.Depth == theme.NoColor && one.task%2 == 1)})
	}
	if p.log {
		p.decades = chart.Decades(p.decades, curves)
		line.Floor, line.Ceiling = p.decades[0], p.decades[1]
	} else {
		ceiling := 0.0
		for _, curve := range curves {
			ceiling = max(ceiling, chart.Ceiling(curve, p.ceiling))
		}
		p.ceiling, line.Ceiling = ceiling, ceiling
	}
	if len(all) == 0 || !line.Draw(c) {
		pane.Message(c, "no loss"+words.Yet(s))
		return "", theme.Faint
	}
	p.legend(s.Tasks, all)
	return "iterations of a round", theme.Faint
}

// legend writes the names of the tasks into the upper edge, in the styles of their curves, or
// their numbers.
func (p *losses) legend(t *profiles.Tasks, all []curveOf) {
	w, _ := p.Canvas.Size()
	room := w - 4 - chart.Width(p.Title) - 4
	for _, text := range []func(task int) string{
		func(task int) string { return fmt.Sprintf("%d %s", task+1, t.List[task].Name) },
		func(task int) string { return strconv.Itoa(task + 1) },
	} {
		width := 1
		for _, one := range all {
			width += chart.Width(text(one.task)) + 1
		}
		if width > room {
			continue
		}
		x := w - 2
		for i := len(all) - 1; i >= 0; i-- {
			x = p.Canvas.TextRight(x, 0, " "+text(all[i].task), styleOf(all[i].task))
		}
		return
	}
}
