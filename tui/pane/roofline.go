package pane

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// roofline plots the layers as points, operations per second against operations per byte, under
// the roofs of the machine, and returns a description of the selected layer in room cells. With
// legend, it lists the first layers next to the plot.
func (t *layerTable) roofline(c *chart.Canvas, s *profiles.Snapshot, room int, legend bool) (string, theme.Style) {
	w, h := c.Size()
	if why := t.missing(s); why != nil {
		return t.draw(c, s, room)
	}
	last := h - 1
	c.Text(0, last, roofsText(s.Roofs, w), theme.Faint)
	right := w
	if legend && w >= 96 {
		right -= legendWidth
	}
	plot := c.Sub(0, 0, right, last)
	plane := chart.Plane{
		Label: unit.AxisLabel, LabelWidth: AxisLabelWidth,
		XTitle: "FLOP/byte", YTitle: "GFLOP/s",
	}
	x, y, hidden := t.ranges(s.Roofs)
	plane.X, plane.Y = x, y
	if !plane.Begin(&plot) {
		Message(&plot, t.host.Keys().Say("{zoom|more room} zooms: the roofline wants more room"))
		return t.describe(room)
	}
	if s.Roofs != nil {
		for _, l := range s.Roofs.Levels {
			plane.Roof(l.GBs, s.Roofs.GFLOPS, theme.Threshold)
		}
	}
	under := t.points(&plane)
	if right < w {
		part := c.Sub(right, 0, w-right, last)
		t.legend(&part, under)
	}
	return t.noteOf(hidden, len(under), room)
}

// points draws the layers by their markers, the selected one as a dot. The selected layer and
// then the slowest ones get their exact cells, the others a free cell nearby. It returns the
// layers that do not fit there, with the markers that hide them.
func (t *layerTable) points(plane *chart.Plane) (under map[int]rune) {
	under = map[int]rune{}
	put := func(i int, r rune, style theme.Style) {
		if l := &t.order[i]; plottable(l) {
			if by := plane.Point(intensity(l), gflops(l), r, r != noMarker, style); by != 0 && r != noMarker {
				under[i] = by
			}
		}
	}
	if t.At < len(t.order) {
		put(t.At, '●', theme.Strong)
	}
	for i := range t.order {
		if i != t.At {
			put(i, marker(i), phaseStyle(t.schema, t.order[i].Phase))
		}
	}
	return under
}

// legendWidth is the width of the legend next to the plot.
const legendWidth = 40

// legend lists the layers that have a marker, each with its time. A layer hidden in the plot is
// listed with the marker that hides it.
func (t *layerTable) legend(c *chart.Canvas, under map[int]rune) {
	_, h := c.Size()
	for i := 0; i < len(t.order) && i < min(h, len(markers)); i++ {
		l, style, name := &t.order[i], theme.Plain, t.order[i].Name
		if by, hidden := under[i]; hidden {
			style, name = theme.Faint, fmt.Sprintf("%s (at %c)", name, by)
		}
		if i == t.At {
			style = theme.Strong
			c.Set(3, i, '▸', theme.Key)
		}
		c.Set(2, i, marker(i), phaseStyle(t.schema, l.Phase))
		c.Text(4, i, chart.Cut(name, legendWidth-11), style)
		c.TextRight(legendWidth, i, unit.Milliseconds(l.Nanos), theme.Faint)
	}
}

// noteOf returns a note for a lower edge of room cells: the selected layer and, if it fits, the
// number of layers not drawn.
func (t *layerTable) noteOf(hidden, under, room int) (string, theme.Style) {
	note, style := t.describe(room)
	if hidden > 0 {
		note = words.FittingOrLast(room, note+fmt.Sprintf(" · %d without operations not drawn", hidden), note)
	}
	if under > 0 {
		note = words.FittingOrLast(room, note+fmt.Sprintf(" · %d under others", under), note)
	}
	return note, style
}

// plottedTime is the share of the layers' time that the axes must cover.
const plottedTime = 0.97

func plottable(l *profiles.Layer) bool { return l.FLOPs > 0 && l.Bytes > 0 && l.Nanos > 0 }

// intensity returns a layer's operations per byte.
func intensity(l *profiles.Layer) float64 { return float64(l.FLOPs) / float64(l.Bytes) }

// gflops returns a layer's speed in 10⁹ operations per second.
func gflops(l *profiles.Layer) float64 { return float64(l.FLOPs) / l.Nanos }

// ranges returns the axes: powers of two that contain the roofs and the layers that account for
// nearly all of the time. Other layers may lie on the edge. The axes stay fixed under small
// changes.
func (t *layerTable) ranges(roofs *profiles.Roofs) (x, y [2]float64, hidden int) {
	var xs, ys []float64
	seen := 0.0
	for i := range t.order {
		l := &t.order[i]
		if !plottable(l) {
			hidden++
		} else if seen < plottedTime*t.sum {
			xs, ys = append(xs, intensity(l)), append(ys, gflops(l))
		}
		seen += l.Nanos
	}
	if len(xs) == 0 {
		return x, y, hidden
	}
	slices.Sort(xs)
	slices.Sort(ys)
	x = [2]float64{xs[0], xs[len(xs)-1]}
	y = [2]float64{ys[0], ys[len(ys)-1]}
	if roofs != nil && roofs.GFLOPS > 0 {
		y[1] = max(y[1], roofs.GFLOPS)
		for _, l := range roofs.Levels {
			if l.GBs > 0 {
				x[1] = max(x[1], roofs.GFLOPS/l.GBs) // where the roofs meet
			}
		}
	}
	widen := func(r [2]float64, by float64) [2]float64 {
		return [2]float64{math.Exp2(math.Floor(math.Log2(r[0]/by)/2) * 2), math.Exp2(math.Ceil(math.Log2(r[1] * by)))}
	}
	return widen(x, 1.2), widen(y, 1.2), hidden
}

// roofsText formats the measured roofs, in at most w cells where possible.
func roofsText(r *profiles.Roofs, w int) string {
	if r == nil {
		return chart.Cut(unjudgedIn(w), w)
	}
	var levels, rates []string
	for _, l := range r.Levels {
		levels = append(levels, fmt.Sprintf("%s %.0f", unit.Limit(l.Bytes), l.GBs))
		rates = append(rates, fmt.Sprintf("%.0f", l.GBs))
	}
	flops := fmt.Sprintf(" GB/s · %.0f GFLOP/s", r.GFLOPS)
	return chart.Cut(words.FittingOrLast(w, strings.Join(levels, " · ")+flops, strings.Join(rates, ", ")+flops), w)
}
