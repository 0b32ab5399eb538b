package bench

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"prismtop/profiles/unit"
)

// The plot's measures in pixels, and its colours.
const (
	plotWidth, plotHeight = 640, 400
	plotLeft, plotRight   = 70, 110
	plotTop, plotBottom   = 30, 50
	innerWidth            = plotWidth - plotLeft - plotRight
	innerHeight           = plotHeight - plotTop - plotBottom

	plotInk, plotGrid = "#222", "#ccc"
	lineColours       = "#0072b2 #d55e00 #009e73 #cc79a7" // distinguishable by colour-blind readers
)

// plot is an SVG under construction: panels below each other, with logarithmic axes.
type plot struct {
	strings.Builder
	top         float64 // of the panel that is drawn
	lowX, highX float64 // sizes, or samples
	lowY, highY float64 // of the panel, powers of ten
}

// panel is one quantity over the sizes.
type panel struct {
	title string
	of    func(Side) (low, middle, high float64) // middle is 0 where it is unknown
}

// WriteScalingSVG draws the medians over the size, or the samples, both on logarithmic axes, with a line for each
// number of threads, dashed for PyTorch; below it the memory, where it is known. Without points it draws empty axes.
func WriteScalingSVG(w io.Writer, points []Point) error {
	panels := []panel{{"ms an iteration, median and 10th to 90th percentile", func(s Side) (low, middle, high float64) {
		return s.P10, s.Median, s.P90
	}}}
	label, step := "side of the field N, pixels (object N/4)", 2.0
	if slices.ContainsFunc(points, func(p Point) bool { return p.Samples > 0 }) {
		panels[0].title = "ms of a run"
		label, step = "samples, an iteration each", 10
	}
	if slices.ContainsFunc(points, func(p Point) bool { return p.Memory > 0 }) {
		panels = append(panels, panel{"MB of resident memory at the peak", func(s Side) (low, middle, high float64) {
			return s.Memory, s.Memory, s.Memory
		}})
	}
	var p plot
	fmt.Fprintf(&p, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth, plotHeight*len(panels))
	p.WriteString(plotMark + `<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	for i, of := range panels {
		p.top = float64(plotHeight*i) + plotTop
		p.fit(points, of)
		p.axes(of.title, label, step)
		colours := strings.Fields(lineColours)
		for i, threads := range threadsOf(points) {
			colour := colours[i%len(colours)]
			p.curve(points, threads, of, false, colour)
			p.curve(points, threads, of, true, colour)
		}
	}
	p.WriteString("</svg>\n")
	_, err := io.WriteString(w, p.String())
	return err
}

// plotMark is in the beginning of a plot.
const plotMark = "<metadata>prismtop bench scaling</metadata>\n"

// IsPlot reports whether WriteScalingSVG wrote a file.
func IsPlot(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 1<<10))
	return err == nil && bytes.HasPrefix(head, []byte("<svg")) && bytes.Contains(head, []byte(plotMark))
}

// fit chooses the axes: the sizes, and whole powers of ten around the quantity.
func (p *plot) fit(points []Point, of panel) {
	p.lowX, p.highX, p.lowY, p.highY = 256, 2048, math.Inf(1), 0
	for i := range points {
		v := &points[i]
		if i == 0 {
			p.lowX, p.highX = v.over(), v.over()
		}
		p.lowX, p.highX = min(p.lowX, v.over()), max(p.highX, v.over())
		for _, peer := range []bool{false, true} {
			if low, middle, high := v.side(of, peer); middle > 0 {
				p.lowY, p.highY = min(p.lowY, low), max(p.highY, high)
			}
		}
	}
	if p.highY == 0 {
		p.lowY, p.highY = 1, 10
	}
	p.lowY = math.Pow(10, math.Floor(math.Log10(p.lowY)))
	p.highY = math.Pow(10, math.Ceil(math.Log10(p.highY)))
}

// side returns a panel's quantity of this program, or of PyTorch; middle is 0 where it is unknown.
func (p *Point) side(of panel, peer bool) (low, middle, high float64) {
	switch {
	case !peer:
		return of.of(p.Side)
	case p.Peer == nil:
		return 0, 0, 0
	}
	return of.of(*p.Peer)
}

func (p *plot) x(over float64) float64 { return plotLeft + innerWidth*share(over, p.lowX, p.highX) }
func (p *plot) y(v float64) float64    { return p.top + innerHeight*(1-share(v, p.lowY, p.highY)) }

// share returns the position of v between low and high, 0 to 1, on a logarithmic
// axis.
func share(v, low, high float64) float64 {
	if high <= low {
		return 0.5
	}
	return math.Log(v/low) / math.Log(high/low)
}

func (p *plot) text(x, y float64, anchor, s string) {
	fmt.Fprintf(p, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, anchor, plotInk, s)
}

func (p *plot) line(x1, y1, x2, y2 float64, colour string) {
	fmt.Fprintf(p, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, colour)
}

// axes draws the grid, with a line for each step of the size, a factor, and each power
// of ten of the quantity, and the axis labels.
func (p *plot) axes(title, label string, step float64) {
	const right = plotLeft + innerWidth
	bottom := p.top + innerHeight
	for x := p.lowX; x <= p.highX*1.001; x *= step {
		p.line(p.x(x), p.top, p.x(x), bottom, plotGrid)
		p.text(p.x(x), bottom+18, "middle", fmt.Sprintf("%.0f", x))
	}
	for y := p.lowY; y <= p.highY*1.001; y *= 10 {
		p.line(plotLeft, p.y(y), right, p.y(y), plotGrid)
		p.text(plotLeft-6, p.y(y)+4, "end", fmt.Sprintf("%g", y))
	}
	p.text(plotLeft+innerWidth/2, bottom+plotBottom-10, "middle", label)
	p.text(plotLeft, p.top-12, "start", title)
}

// curve draws the points of a side for a number of threads, their spread and the line
// through their medians.
func (p *plot) curve(points []Point, threads int, of panel, peer bool, colour string) {
	var path []string
	var x, y float64
	for i := range points {
		low, middle, high := points[i].side(of, peer)
		if points[i].Threads != threads || !(middle > 0) {
			continue
		}
		x, y = p.x(points[i].over()), p.y(middle)
		p.line(x, p.y(low), x, p.y(high), colour)
		fmt.Fprintf(p, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x, y, colour)
		path = append(path, fmt.Sprintf("%.1f,%.1f", x, y))
	}
	if len(path) == 0 {
		return
	}
	name, dash := unit.Plural(threads, "thread", "threads"), ""
	if peer {
		name, dash = "PyTorch, "+fmt.Sprint(threads), ` stroke-dasharray="6 4"`
	}
	fmt.Fprintf(p, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", strings.Join(path, " "), colour, dash)
	p.text(x+8, y+4, "start", name)
}

// threadsOf lists the numbers of threads in order of appearance.
func threadsOf(points []Point) []int {
	var list []int
	for _, p := range points {
		if !slices.Contains(list, p.Threads) {
			list = append(list, p.Threads)
		}
	}
	return list
}
