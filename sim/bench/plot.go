package bench

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
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

// plot is an SVG under construction, with logarithmic axes.
type plot struct {
	strings.Builder
	lowX, highX float64 // sizes
	lowY, highY float64 // ms, powers of ten
}

// WriteScalingSVG draws the medians over the size, both on logarithmic axes, with a
// line for each number of threads. Without points it draws empty axes.
func WriteScalingSVG(w io.Writer, points []Point) error {
	var p plot
	p.fit(points)
	fmt.Fprintf(&p, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth, plotHeight)
	p.WriteString(plotMark + `<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	p.axes()
	colours := strings.Fields(lineColours)
	for i, threads := range threadsOf(points) {
		p.curve(points, threads, colours[i%len(colours)])
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

// fit chooses the axes: the sizes, and whole powers of ten around the times.
func (p *plot) fit(points []Point) {
	p.lowX, p.highX, p.lowY, p.highY = 256, 2048, 1, 10
	for i, v := range points {
		if i == 0 {
			p.lowX, p.highX, p.lowY, p.highY = float64(v.Size), float64(v.Size), v.P10, v.P90
		}
		p.lowX, p.highX = min(p.lowX, float64(v.Size)), max(p.highX, float64(v.Size))
		p.lowY, p.highY = min(p.lowY, v.P10), max(p.highY, v.P90)
	}
	p.lowY = math.Pow(10, math.Floor(math.Log10(p.lowY)))
	p.highY = math.Pow(10, math.Ceil(math.Log10(p.highY)))
}

func (p *plot) x(size float64) float64 { return plotLeft + innerWidth*share(size, p.lowX, p.highX) }
func (p *plot) y(ms float64) float64   { return plotTop + innerHeight*(1-share(ms, p.lowY, p.highY)) }

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

// axes draws the grid, with a line for each doubling of the size and each power
// of ten of the time, and the axis labels.
func (p *plot) axes() {
	const bottom, right = plotTop + innerHeight, plotLeft + innerWidth
	for size := p.lowX; size <= p.highX*1.001; size *= 2 {
		p.line(p.x(size), plotTop, p.x(size), bottom, plotGrid)
		p.text(p.x(size), bottom+18, "middle", fmt.Sprintf("%.0f", size))
	}
	for ms := p.lowY; ms <= p.highY*1.001; ms *= 10 {
		p.line(plotLeft, p.y(ms), right, p.y(ms), plotGrid)
		p.text(plotLeft-6, p.y(ms)+4, "end", fmt.Sprintf("%g", ms))
	}
	p.text(plotLeft+innerWidth/2, plotHeight-10, "middle", "side of the field N, pixels (object N/4)")
	p.text(plotLeft, plotTop-12, "start", "ms an iteration, median and 10th to 90th percentile")
}

// curve draws the points for a number of threads, their spread and the line
// through their medians.
func (p *plot) curve(points []Point, threads int, colour string) {
	var path []string
	var last Point
	for _, v := range points {
		if v.Threads != threads {
			continue
		}
		x, y := p.x(float64(v.Size)), p.y(v.Median)
		p.line(x, p.y(v.P10), x, p.y(v.P90), colour)
		fmt.Fprintf(p, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x, y, colour)
		path = append(path, fmt.Sprintf("%.1f,%.1f", x, y))
		last = v
	}
	fmt.Fprintf(p, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(path, " "), colour)
	name := "threads"
	if threads == 1 {
		name = "thread"
	}
	p.text(p.x(float64(last.Size))+8, p.y(last.Median)+4, "start", fmt.Sprintf("%d %s", threads, name))
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
