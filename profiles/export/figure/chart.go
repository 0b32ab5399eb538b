package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"prismtop/profiles/visible"
)

// A chart of curves over iterations: what it has, and drawing it.

// Set is the charts of a run, over its iterations.
type Set struct {
	X       []float64 // iteration in the middle of each bin
	First   []int64   // iteration of each bin
	Last    []int64
	Seconds []float64 // since the run began
	Marks   []int64   // iterations at which settings changed, marked 1, 2, 3…
	Charts  []Chart
}

// Chart is a chart of curves.
type Chart struct {
	ID      string
	Title   string
	Unit    string // on its axis; empty for a bare number
	Of      string // unit of a value; empty for a bare number
	Note    string // what the curves show
	Log     bool
	Zero    bool   // the axis begins at 0
	Stacked bool   // each curve stands on the one before
	Whole   bool   // 100 is the most that there can be
	Reason  string // why there are no curves
	Curves  []Line
}

// Line is a curve, with a value for each bin; NaN for none, −∞ where a linked one is interrupted.
type Line struct {
	Name      string
	Y         []float64
	Low, High []float64 // of a band around it; nil for none
	Most      []float64 // largest values, which are told and not drawn; nil for none
	Linked    bool      // values are joined across bins without one
}

// heading returns the title with the unit.
func (c *Chart) heading() string {
	if c.Unit == "" {
		return c.Title
	}
	return c.Title + " (" + c.Unit + ")"
}

// most returns the largest of all values that are told and not drawn; 0 for none.
func (c *Chart) most() (most float64) {
	for i := range c.Curves {
		for _, v := range c.Curves[i].Most {
			if v > most {
				most = v
			}
		}
	}
	return most
}

// dashes tell curves apart without colours.
var dashes = [curves][]float64{nil, {7, 3}, {2, 2.5}, {9, 3, 2, 3}, {4, 4}, {12, 3}, {1, 3}, {9, 3, 2, 3, 2, 3}}

// Plot is where a chart has its values, in pixels.
type Plot struct {
	X, Y, Width, Height float64
	From, To            float64 // iterations at its left and right end
}

// plotting is a chart while it is drawn.
type plotting struct {
	d     *Drawing
	set   *Set
	chart *Chart
	x, y  axis
	cut   float64 // the largest value, if values are cut
	ends  []float64
	edge  float64 // right end of the chart
}

// Measures of a chart in pixels.
const (
	titleSize, textSize, smallSize = 13, 11, 9.5

	leftRoom, topRoom, bottomRoom = 50, 36, 36
	keyGap, keySample, keySpacing = 10, 22, 13.5
)

// draw draws a chart into a rectangle.
func (s *Set) draw(d *Drawing, c *Chart, x, y, w, h float64) Plot {
	right := min(s.names()+keyGap+keySample+6, w*0.3)
	p := plotting{d: d, set: s, chart: c, edge: x + w}
	plot := Plot{X: x + leftRoom, Y: y + topRoom, Width: w - leftRoom - right, Height: h - topRoom - bottomRoom,
		From: 0, To: 1}
	if n := len(s.X); n > 0 {
		plot.From, plot.To = float64(s.First[0]), float64(s.Last[n-1])
		if plot.To == plot.From {
			plot.From, plot.To = plot.From-0.5, plot.To+0.5
		}
	}
	p.x = axis{low: plot.From, high: plot.To, from: plot.X, to: plot.X + plot.Width}
	p.y = axis{from: plot.Y + plot.Height, to: plot.Y, log: c.Log}
	known := p.cover()
	taken := d.text(x, y+titleSize, titleSize, w, Start, Ink, c.heading())
	d.bold()
	note := c.Note
	if longest := c.most(); longest > 0 {
		note += "; longest " + label(longest)
	} else if p.cut > 0 {
		note += "; cut above, up to " + label(p.cut)
	}
	d.text(x+w, y+titleSize, smallSize, w-taken-12, End, Muted, note)
	if !known {
		d.rectangle(Grid, plot.X, plot.Y, plot.Width, 1)
		d.rectangle(Grid, plot.X, plot.Y+plot.Height, plot.Width, 1)
		d.text(plot.X+plot.Width/2, plot.Y+plot.Height/2, textSize, plot.Width, Middle, Muted,
			cmp.Or(c.Reason, "nothing was measured"))
		return plot
	}
	p.grid(&plot)
	if c.Stacked {
		p.stack()
	} else {
		for i := range c.Curves {
			p.band(&c.Curves[i])
		}
		p.marks(&plot)
		for i := range c.Curves {
			p.curve(i)
		}
	}
	if c.Stacked {
		p.marks(&plot)
	}
	p.frame(&plot)
	p.key(&plot)
	return plot
}

// cover chooses the vertical axis; false means that there are no values.
func (p *plotting) cover() bool {
	c := p.chart
	var tops []float64
	low := math.Inf(1)
	shown := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) && (!c.Log || v > 0) }
	sums := make([]float64, len(p.set.X))
	for i := range c.Curves {
		l := &c.Curves[i]
		for k, v := range l.Y {
			if !shown(v) {
				continue
			}
			low = min(low, v)
			switch {
			case c.Stacked:
				sums[k] += v
			case l.High != nil && shown(l.High[k]):
				tops = append(tops, l.High[k])
			default:
				tops = append(tops, v)
			}
			if l.Low != nil && shown(l.Low[k]) {
				low = min(low, l.Low[k])
			}
		}
	}
	if c.Stacked && low <= math.MaxFloat64 {
		tops, low = sums, 0
	}
	if len(tops) == 0 {
		return false
	}
	top := slices.Max(tops)
	if c.Zero || c.Stacked {
		var largest float64
		if top, largest = highest(tops); largest > top {
			p.cut = largest
		}
	}
	if c.Whole {
		p.y.low, p.y.high = 0, 100
		return true
	}
	p.y.cover(low, top, c.Zero || c.Stacked)
	return true
}

// grid draws the lines and labels of both axes.
func (p *plotting) grid(plot *Plot) {
	for _, v := range p.y.ticks(max(2, int(plot.Height/32))) {
		y := p.y.at(v)
		p.d.line(Grid, 1, nil, point{plot.X, y}, point{plot.X + plot.Width, y})
		p.d.text(plot.X-6, y+4, textSize, leftRoom-8, End, Ink, label(v))
	}
	for _, v := range p.x.ticks(max(2, int(plot.Width/70))) {
		if v != math.Trunc(v) {
			continue // iterations are whole
		}
		x := p.x.at(v)
		p.d.line(Ink, 1, nil, point{x, plot.Y + plot.Height}, point{x, plot.Y + plot.Height + 4})
		p.d.text(x, plot.Y+plot.Height+16, textSize, 60, Middle, Ink, label(v))
	}
	p.d.text(plot.X+plot.Width/2, plot.Y+plot.Height+31, textSize, plot.Width, Middle, Ink, "Iteration")
}

// frame draws the axes themselves.
func (p *plotting) frame(plot *Plot) {
	p.d.line(Ink, 1, nil, point{plot.X, plot.Y}, point{plot.X, plot.Y + plot.Height},
		point{plot.X + plot.Width, plot.Y + plot.Height})
}

// marks draws a line where settings changed, with its number; lines close together share a range.
func (p *plotting) marks(plot *Plot) {
	var all []numbers
	for i, at := range p.set.Marks {
		x := p.x.at(float64(at))
		p.d.line(Mark, 1, []float64{3, 3}, point{x, plot.Y}, point{x, plot.Y + plot.Height})
		all = append(all, numbers{i + 1, i + 1, x, x})
		for n := len(all); n > 1 && all[n-2].end()+2 >= all[n-1].begin(); n = len(all) {
			all[n-2].last, all[n-2].right = all[n-1].last, all[n-1].right
			all = all[:n-1]
		}
	}
	for _, n := range all {
		p.d.text(n.middle(), plot.Y-4, smallSize, plot.Width, Middle, Ink, n.text())
	}
}

// numbers is a range of neighbouring marks with the positions of its first and last lines.
type numbers struct {
	first, last int
	left, right float64
}

// text returns the number, or the range: "3–5".
func (n numbers) text() string {
	if n.first == n.last {
		return fmt.Sprint(n.first)
	}
	return fmt.Sprintf("%d–%d", n.first, n.last)
}

func (n numbers) middle() float64 { return (n.left + n.right) / 2 }
func (n numbers) begin() float64  { return n.middle() - textWidth(n.text(), smallSize)/2 }
func (n numbers) end() float64    { return n.middle() + textWidth(n.text(), smallSize)/2 }

// runs calls take with each stretch of bins that have a value, as their indices.
func (p *plotting) runs(l *Line, take func([]int)) {
	var run []int
	for k, v := range l.Y {
		if math.IsNaN(v) || math.IsInf(v, 0) || p.chart.Log && v <= 0 {
			if (!l.Linked || math.IsInf(v, -1)) && len(run) > 0 {
				take(run)
				run = nil
			}
			continue
		}
		run = append(run, k)
	}
	if len(run) > 0 {
		take(run)
	}
}

// band draws the area between the low and high values of a curve.
func (p *plotting) band(l *Line) {
	if l.Low == nil {
		return
	}
	p.runs(l, func(run []int) {
		var outline []point
		for _, k := range run {
			outline = append(outline, point{p.x.at(p.set.X[k]), p.y.at(l.High[k])})
		}
		for _, k := range slices.Backward(run) {
			outline = append(outline, point{p.x.at(p.set.X[k]), p.y.at(l.Low[k])})
		}
		p.d.area(Band, outline...)
	})
}

// curve draws a curve; a value that stands alone as a square.
func (p *plotting) curve(i int) {
	l := &p.chart.Curves[i]
	end := math.NaN()
	p.runs(l, func(run []int) {
		var points []point
		for _, k := range run {
			points = append(points, point{p.x.at(p.set.X[k]), p.y.at(l.Y[k])})
		}
		if len(points) == 1 {
			p.d.rectangle(Curve+Paint(i%curves), points[0].X-2, points[0].Y-2, 4, 4)
		}
		p.d.line(Curve+Paint(i%curves), 1.8, dashes[i%curves], points...)
		end = points[len(points)-1].Y
	})
	p.ends = append(p.ends, end)
}

// stack draws the curves one on the other.
func (p *plotting) stack() {
	n := len(p.set.X)
	below := make([]float64, n)
	for i := range p.chart.Curves {
		l := &p.chart.Curves[i]
		above := slices.Clone(below)
		end := math.NaN()
		p.runs(l, func(run []int) {
			var upper, lower []point
			for _, k := range run {
				x := p.x.at(p.set.X[k])
				above[k] = below[k] + l.Y[k]
				upper, lower = append(upper, point{x, p.y.at(above[k])}), append(lower, point{x, p.y.at(below[k])})
				end = (p.y.at(above[k]) + p.y.at(below[k])) / 2
			}
			if len(run) == 1 { // wide enough to be seen
				upper, lower = []point{{upper[0].X - 2, upper[0].Y}, {upper[0].X + 2, upper[0].Y}},
					[]point{{lower[0].X - 2, lower[0].Y}, {lower[0].X + 2, lower[0].Y}}
			}
			outline := slices.Clone(upper)
			slices.Reverse(lower)
			p.d.area(Area+Paint(i%curves), append(outline, lower...)...)
			if i == len(p.chart.Curves)-1 {
				p.d.line(Ink, 0.8, nil, upper...)
			}
		})
		p.ends = append(p.ends, end)
		below = above
	}
}

// key names the curves at their right ends, in the order in which they end.
func (p *plotting) key(plot *Plot) {
	order := make([]int, 0, len(p.ends))
	for i, y := range p.ends {
		if !math.IsNaN(y) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.ends[a], p.ends[b]) })
	at := make([]float64, len(order))
	for k, i := range order {
		at[k] = p.ends[i]
		if k > 0 {
			at[k] = max(at[k], at[k-1]+keySpacing)
		}
	}
	for k, bottom := len(at)-1, plot.Y+plot.Height; k >= 0; k, bottom = k-1, at[k]-keySpacing {
		at[k] = min(at[k], bottom)
	}
	right := plot.X + plot.Width
	for k, i := range order {
		y, x := at[k], right+keyGap
		p.d.line(Muted, 0.6, nil, point{right + 1, p.ends[i]}, point{x - 1, y})
		if p.chart.Stacked {
			p.d.rectangle(Ink, x, y-5, keySample-8, 10)
			p.d.rectangle(Area+Paint(i%curves), x+0.5, y-4.5, keySample-9, 9)
		} else {
			p.d.line(Curve+Paint(i%curves), 1.8, dashes[i%curves], point{x, y}, point{x + keySample, y})
		}
		p.d.text(x+keySample+4, y+4, textSize, p.edge-x-keySample-4, Start, Ink, p.chart.Curves[i].Name)
	}
}

// names returns the width of the longest name of a curve in any of the charts, which thereby stand one
// below the other.
func (s *Set) names() float64 {
	most := 20.0
	for i := range s.Charts {
		for k := range s.Charts[i].Curves {
			most = max(most, textWidth(visible.Text(s.Charts[i].Curves[k].Name), textSize))
		}
	}
	return most
}

// Alone returns a drawing of one chart, and where its values are.
func (s *Set) Alone(c *Chart, width, height float64, about string) (*Drawing, Plot) {
	d := &Drawing{Width: width, Height: height, Title: c.heading(), About: about}
	plot := s.draw(d, c, 2, 0, width-4, height-2)
	return d, plot
}
