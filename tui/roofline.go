package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// roofline draws the layers as points, operations per byte against operations per
// second, under the roofs of the machine. legend names the first layers beside it.
func (t *layerTable) roofline(c *chart.Canvas, s *profiles.Snapshot, legend bool) (string, theme.Style) {
	w, h := c.Size()
	if why := t.missing(s); why != nil {
		return t.draw(c, s)
	}
	last := h - 1
	c.Text(0, last, chart.Cut(roofsText(s.Roofs), w), theme.Faint)
	if legend && w >= 96 {
		w -= 40
		for i := 0; i < len(t.order) && i < min(h-1, len(markers)); i++ {
			style := theme.Plain
			if i == t.at {
				style = theme.Strong
				c.Set(w+3, i, '▸', theme.Key)
			}
			c.Set(w+2, i, marker(i), phaseStyle(t.order[i].Phase))
			c.Text(w+4, i, chart.Cut(t.order[i].Name, 29), style)
			c.TextRight(w+40, i, milliseconds(t.order[i].Nanos), theme.Faint)
		}
	}
	plot := c.Sub(0, 0, w, last)
	plane := chart.Plane{
		Label: axisLabel, LabelWidth: axisLabelWidth,
		XTitle: "FLOP/byte", YTitle: "GFLOP/s",
	}
	x, y, hidden := t.ranges(s.Roofs)
	plane.X, plane.Y = x, y
	if !plane.Begin(&plot) {
		message(&plot, "z zooms: the roofline wants more room")
		return t.describe()
	}
	if s.Roofs != nil {
		for _, l := range s.Roofs.Levels {
			plane.Roof(l.GBs, s.Roofs.GFLOPS, theme.Threshold)
		}
	}
	for i := len(t.order) - 1; i >= 0; i-- {
		if l := &t.order[i]; i != t.at && plottable(l) {
			plane.Point(intensity(l), gflops(l), marker(i), "", phaseStyle(l.Phase))
		}
	}
	if t.at < len(t.order) && plottable(&t.order[t.at]) {
		l := &t.order[t.at]
		plane.Point(intensity(l), gflops(l), '●', "", theme.Strong)
	}
	note, style := t.describe()
	if hidden > 0 {
		note += fmt.Sprintf(" · %d without operations not drawn", hidden)
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

// roofsText tells the roofs as they were measured.
func roofsText(r *profiles.Roofs) string {
	if r == nil {
		return unjudged
	}
	var levels []string
	for _, l := range r.Levels {
		levels = append(levels, fmt.Sprintf("%s %.0f", levelSize(l.Bytes), l.GBs))
	}
	return strings.Join(levels, " · ") + fmt.Sprintf(" GB/s · %.0f GFLOP/s", r.GFLOPS)
}

// levelSize is the size of a power of two, as caches are named.
func levelSize(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
