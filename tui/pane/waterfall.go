package pane

import (
	"fmt"
	"math"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// waterfall shows one iteration on a time axis: its phases and, below them, the steps of the
// plan if layers are timed.
type waterfall struct {
	picked        int64 // the iteration, if held
	held          bool
	recent        []profiles.Timing
	ceiling       float64 // of the axis, ns
	widget.Scroll         // of the plan's steps
	title         string
}

// press selects the iteration and scrolls the steps.
func (f *waterfall) press(key string) bool {
	switch key {
	case "left":
		f.choose(-1)
	case "right":
		f.choose(1)
	case "end":
		f.held = false
	default:
		return f.Scroll.Move(key)
	}
	return true
}

// choose moves to a neighbour among the recent iterations; the first time, it selects the latest
// and holds it.
func (f *waterfall) choose(step int) {
	if len(f.recent) == 0 {
		return
	}
	at := len(f.recent) - 1
	if f.held {
		at = min(max(f.find()+step, 0), at)
	}
	f.held, f.picked = true, f.recent[at].Index
}

// find returns the index of the iteration to show.
func (f *waterfall) find() int {
	last := len(f.recent) - 1
	if !f.held {
		return last
	}
	return int(min(max(f.picked-f.recent[0].Index, 0), int64(last)))
}

// span is a bar of the waterfall.
type span struct {
	name       string
	style      theme.Style
	start, len float64 // ns
}

func (f *waterfall) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	f.recent, f.title = s.Recent, ""
	if len(s.Recent) == 0 {
		Message(c, "no iteration"+words.Yet(s))
		return "", theme.Faint
	}
	it := &s.Recent[f.find()]
	f.title = fmt.Sprintf("iteration %d  %s ms", it.Index, unit.Milliseconds(float64(it.Total)))
	if it.Flags&profiles.Warmup != 0 {
		f.title += "  warm-up"
	}
	spans := phaseSpans(s, it)
	steps := stepSpans(&s.Run.Schema, s.Layers)
	longest := float64(it.Total)
	if len(steps) > 0 {
		last := steps[len(steps)-1]
		longest = max(longest, last.start+last.len)
	}
	f.ceiling = timeCeiling(longest, f.ceiling)

	w, h := c.Size()
	names := phaseNameWidth
	rows := h - len(spans) - 3
	if len(steps) == 0 || rows < 2 {
		rows = 0
	} else {
		names = max(names, min(longestName(steps), w*2/5))
	}
	first, end := f.Fit(len(steps), rows)
	if len(spans) >= h { // leave out phases that did not run
		spans = slices.DeleteFunc(spans, func(s span) bool { return s.len <= 0 })
	}
	f.drawSpans(c, 0, names, spans[:min(len(spans), h)])
	y := len(spans)
	if rows > 0 {
		c.Text(0, y+1, chart.Cut(fmt.Sprintf("steps %d–%d of %d: means, end to end",
			first+1, end, len(steps)), w), theme.Faint)
		f.drawSpans(c, y+2, names, steps[first:end])
		y += 2 + end - first
	}
	f.axis(c, y, names)
	switch {
	case f.held:
		return fmt.Sprintf("at iteration %d · end: live", it.Index), theme.Strong
	case len(steps) > 0 && rows == 0:
		return "{zoom|more room} zooms: the steps want more room", theme.Faint
	}
	return "", theme.Faint
}

// longestName returns the width of the longest name.
func longestName(spans []span) (w int) {
	for _, s := range spans {
		w = max(w, chart.Width(s.name))
	}
	return w
}

// phaseSpans returns the phases of an iteration in execution order, each starting where the
// previous ends, and the remainder. Iterations do not record when a phase began, and part of the
// telescope phase precedes the decoder: the length of a bar is exact, its position is not.
func phaseSpans(s *profiles.Snapshot, it *profiles.Timing) []span {
	var spans []span
	at := 0.0
	for id, ns := range it.Phases[:len(s.Run.Schema.Phases)] {
		p := profiles.Phase(id)
		spans = append(spans, span{words.PhaseName(s, p), phaseStyle(&s.Run.Schema, p), at, float64(ns)})
		at += float64(ns)
	}
	return append(spans, span{"rest", theme.Faint, at, float64(it.Rest())})
}

// stepSpans returns the steps of the plan, laid end to end.
func stepSpans(schema *profiles.Schema, layers []profiles.Layer) []span {
	spans := make([]span, len(layers))
	at := 0.0
	for i, l := range layers {
		spans[i] = span{l.Name, phaseStyle(schema, l.Phase), at, l.Nanos}
		at += l.Nanos
	}
	return spans
}

// timeCeiling returns a round end of the axis. The previous one is kept while more than two
// thirds of it are filled.
func timeCeiling(longest, previous float64) float64 {
	if !(longest > 0) || math.IsInf(longest, 0) {
		return 1e6
	}
	if longest <= previous && longest > previous*2/3 {
		return previous
	}
	return chart.RoundUp(longest)
}

const spanNumber = 6 // room for milliseconds at the right

func (f *waterfall) drawSpans(c *chart.Canvas, y, names int, spans []span) {
	w, _ := c.Size()
	room := w - names - 1 - spanNumber
	for i, s := range spans {
		name := theme.Plain
		if s.len == 0 {
			name = theme.Faint
		}
		c.Text(0, y+i, chart.Cut(s.name, names), name)
		if s.len <= 0 {
			continue
		}
		c.TextRight(w, y+i, unit.Milliseconds(s.len), theme.Strong)
		if room < 3 {
			continue
		}
		unit := float64(room) / f.ceiling
		from := min(int(math.Round(s.start*unit)), room-1)
		to := min(max(int(math.Round((s.start+s.len)*unit)), from+1), room)
		c.Fill(names+1+from, y+i, to-from, 1, '▇', s.style)
	}
}

// axis labels the time axis.
func (f *waterfall) axis(c *chart.Canvas, y, names int) {
	w, _ := c.Size()
	room := w - names - 1 - spanNumber
	if room < 12 {
		return
	}
	c.Fill(names+1, y, room, 1, '─', theme.Axis)
	c.Text(names+1, y, "0 ", theme.Axis)
	c.TextRight(names+1+room, y, " "+unit.AxisLabel(f.ceiling/1e6)+" ms", theme.Axis)
	if room >= 30 {
		half := " " + unit.AxisLabel(f.ceiling/2e6) + " "
		c.Text(names+1+room/2-chart.Width(half)/2, y, half, theme.Axis)
	}
}
