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

// roofline draws the layers as points, operations per byte against operations per
// second, under the roofs of the machine, and tells the picked one for an edge of room
// cells. legend names the first layers beside it.
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
		Message(&plot, "z zooms: the roofline wants more room")
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

// points draws the layers by their markers, the picked one as a dot: it and then the
// longest stand where they are, others beside them. It returns those that have no room
// there, with the marker that hides each.
func (t *layerTable) points(plane *chart.Plane) (under map[int]rune) {
	under = map[int]rune{}
	put := func(i int, r rune, style theme.Style) {
		if l := &t.order[i]; plottable(l) {
			if by := plane.Point(intensity(l), gflops(l), r, r != noMarker, style); by != 0 && r != noMarker {
				under[i] = by
			}
		}
	}
	if t.at < len(t.order) {
		put(t.at, '●', theme.Strong)
	}
	for i := range t.order {
		if i != t.at {
			put(i, marker(i), phaseStyle(t.order[i].Phase))
		}
	}
	return under
}

// legendWidth is the room of the layers' names beside the plot.
const legendWidth = 40

// legend names the layers that have a marker, each with its time; those without a place
// in the plot with the marker that hides them.
func (t *layerTable) legend(c *chart.Canvas, under map[int]rune) {
	_, h := c.Size()
	for i := 0; i < len(t.order) && i < min(h, len(markers)); i++ {
		l, style, name := &t.order[i], theme.Plain, t.order[i].Name
		if by, hidden := under[i]; hidden {
			style, name = theme.Faint, fmt.Sprintf("%s (at %c)", name, by)
		}
		if i == t.at {
			style = theme.Strong
			c.Set(3, i, '▸', theme.Key)
		}
		c.Set(2, i, marker(i), phaseStyle(l.Phase))
		c.Text(4, i, chart.Cut(name, legendWidth-11), style)
		c.TextRight(legendWidth, i, unit.Milliseconds(l.Nanos), theme.Faint)
	}
}

// noteOf is what a lower edge of room cells says: the picked layer, and what is not
// drawn, where that fits.
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

// plottedTime is the share of the layers' time that the axes are made for.
const plottedTime = 0.97

func plottable(l *profiles.Layer) bool { return l.FLOPs > 0 && l.Bytes > 0 && l.Nanos > 0 }

// intensity is a layer's operations per byte.
func intensity(l *profiles.Layer) float64 { return float64(l.FLOPs) / float64(l.Bytes) }

// gflops is a layer's 10⁹ operations a second.
func gflops(l *profiles.Layer) float64 { return float64(l.FLOPs) / l.Nanos }

// ranges are the axes: powers of two that hold the roofs and the layers that take
// nearly all of the time; others may lie on the edge. They stand still while layers
// move a little.
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

// roofsText is the roofs as they were measured, in at most w cells where that can be.
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
