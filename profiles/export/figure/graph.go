package figure

import (
	"cmp"
	"math"
	"slices"
)

// Graph is a chart over a number such as a batch size, on an axis of powers of two.
type Graph struct {
	ID     string
	Title  string
	X, Y   string // names of the axes
	Note   string // what the graph shows
	Reason string // why there is nothing to show

	Points []GraphPoint // joined by a line
	Boxes  []GraphBox
	Fit    []GraphPoint // a smooth curve
	Level  *GraphMark   // a value with a name, across the graph
	Marks  []GraphMark  // places on the axis with names
	Region *[2]float64  // a range of the axis that is shaded
}

// GraphPoint is a value with an interval, which is empty if both ends are 0.
type GraphPoint struct{ X, Y, Low, High float64 }

// GraphBox is a distribution: its quartiles, and whiskers.
type GraphBox struct{ X, Low, Q1, Median, Q3, High float64 }

// GraphMark is a place with a name.
type GraphMark struct {
	At   float64
	Name string
}

// Measures of a sheet of graphs in pixels.
const (
	sheetMargin, sheetGap, sheetHead = 24, 30, 44
	graphLeft, graphBottom, graphTop = 58, 40, 50
	boxHalf                          = 7
)

// Sheet draws graphs in rows, on a sheet of the given size.
func Sheet(title, about string, width, height float64, columns int, graphs []Graph) *Drawing {
	d := &Drawing{Width: width, Height: height, Title: title, About: about}
	d.rectangle(Paper, 0, 0, width, height)
	d.text(sheetMargin, 30, 17, width-2*sheetMargin, Start, Ink, title)
	d.bold()
	rows := (len(graphs) + columns - 1) / columns
	w := (width - 2*sheetMargin - float64(columns-1)*sheetGap) / float64(columns)
	h := (height - sheetHead - sheetMargin - float64(rows-1)*sheetGap) / float64(max(rows, 1))
	for i := range graphs {
		graphs[i].draw(d, sheetMargin+float64(i%columns)*(w+sheetGap), sheetHead+float64(i/columns)*(h+sheetGap), w, h)
	}
	return d
}

// Draw draws one graph on a sheet of its own.
func (g *Graph) Draw(about string, width, height float64) *Drawing {
	d := &Drawing{Width: width, Height: height, Title: g.Title, About: about}
	d.rectangle(Paper, 0, 0, width, height)
	g.draw(d, 8, 4, width-16, height-12)
	return d
}

// draw draws a graph into a rectangle.
func (g *Graph) draw(d *Drawing, x, y, w, h float64) {
	d.text(x, y+titleSize, titleSize, w, Start, Ink, g.Title)
	d.bold()
	d.text(x, y+titleSize+14, smallSize, w, Start, Muted, g.Note)
	left, top, right, bottom := x+graphLeft, y+graphTop, x+w, y+h-graphBottom
	across, up, known := g.axes()
	if !known {
		d.line(Ink, 1, nil, point{left, top}, point{left, bottom}, point{right, bottom})
		d.text((left+right)/2, (top+bottom)/2, textSize, right-left, Middle, Muted,
			cmp.Or(g.Reason, "nothing was measured"))
		return
	}
	across.from, across.to, up.from, up.to = left, right, bottom, top
	if r := g.Region; r != nil {
		from, to := across.at(r[0])-4, across.at(r[1])+4
		d.rectangle(Band, max(from, left), top, min(to, right)-max(from, left), bottom-top)
	}
	for _, v := range up.ticks(max(2, int((bottom-top)/36))) {
		d.line(Grid, 1, nil, point{left, up.at(v)}, point{right, up.at(v)})
		d.text(left-6, up.at(v)+4, textSize, graphLeft-8, End, Ink, label(v))
	}
	every := max(1, int(math.Ceil(math.Log2(across.high/across.low)*26/(right-left))))
	for e := int(math.Ceil(math.Log2(across.low))); math.Exp2(float64(e)) <= across.high; e++ {
		v := math.Exp2(float64(e))
		d.line(Grid, 1, nil, point{across.at(v), top}, point{across.at(v), bottom})
		if e%every == 0 {
			d.text(across.at(v), bottom+15, textSize, 48, Middle, Ink, label(v))
		}
	}
	d.text((left+right)/2, bottom+32, textSize, right-left, Middle, Ink, g.X)
	d.text(left, top-5, smallSize, right-left, Start, Ink, g.Y)
	if m := g.Level; m != nil {
		d.line(Curve+1, 1.4, []float64{6, 4}, point{left, up.at(m.At)}, point{right, up.at(m.At)})
		d.text(right-2, up.at(m.At)-4, smallSize, right-left, End, Ink, m.Name)
	}
	for _, m := range g.Marks {
		d.line(Mark, 1, []float64{3, 3}, point{across.at(m.At), top}, point{across.at(m.At), bottom})
		d.text(across.at(m.At), top+10, smallSize, 80, End, Ink, m.Name+" ")
	}
	g.values(d, &across, &up)
	d.line(Ink, 1, nil, point{left, top}, point{left, bottom}, point{right, bottom})
}

// values draws the fit, the points and the boxes.
func (g *Graph) values(d *Drawing, across, up *axis) {
	at := func(x, y float64) point { return point{across.at(x), up.at(y)} }
	line := func(points []GraphPoint) (all []point) {
		for _, p := range points {
			all = append(all, at(p.X, p.Y))
		}
		return all
	}
	d.line(Curve+2, 1.4, []float64{7, 3}, line(g.Fit)...)
	d.line(Curve, 1.8, nil, line(g.Points)...)
	for _, p := range g.Points {
		if p.Low != 0 || p.High != 0 {
			d.line(Curve, 1.2, nil, at(p.X, p.Low), at(p.X, p.High))
		}
		v := at(p.X, p.Y)
		d.rectangle(Curve, v.X-3, v.Y-3, 6, 6)
	}
	for _, b := range g.Boxes {
		x := across.at(b.X)
		d.line(Ink, 1, nil, point{x, up.at(b.Low)}, point{x, up.at(b.High)})
		d.rectangle(Ink, x-boxHalf, up.at(b.Q3), 2*boxHalf, max(up.at(b.Q1)-up.at(b.Q3), 1))
		d.rectangle(Area+1, x-boxHalf+1, up.at(b.Q3)+1, 2*boxHalf-2, max(up.at(b.Q1)-up.at(b.Q3)-2, 0))
		d.line(Curve+1, 2, nil, point{x - boxHalf, up.at(b.Median)}, point{x + boxHalf, up.at(b.Median)})
	}
}

// axes returns the axes that cover all values; known is false for none.
func (g *Graph) axes() (across, up axis, known bool) {
	var xs, ys []float64
	for _, p := range slices.Concat(g.Points, g.Fit) {
		xs, ys = append(xs, p.X), append(ys, p.Y)
		if p.High != 0 {
			ys = append(ys, p.High)
		}
	}
	for _, b := range g.Boxes {
		xs, ys = append(xs, b.X), append(ys, b.High)
	}
	if len(xs) == 0 {
		return across, up, false
	}
	for _, m := range g.Marks {
		xs = append(xs, m.At)
	}
	if g.Level != nil {
		ys = append(ys, g.Level.At)
	}
	low, high := slices.Min(xs), slices.Max(xs)
	across = axis{low: low / math.Sqrt2, high: high * math.Sqrt2, log: true}
	up.cover(0, slices.Max(ys), true)
	return across, up, true
}
