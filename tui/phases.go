package tui

import (
	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
)

// Phases is the pane of where the time of an iteration goes.
var Phases = Spec{
	Name:  "phases",
	Shape: layout.Shape{Width: layout.Extent{Least: 38, Good: 46, Most: 76, Weight: 1}, Height: layout.Extent{Least: 8, Good: 8, Most: 17, Leap: 2, Weight: 2}},
	Roomy: layout.Shape{Width: layout.Extent{Least: 38, Good: 60, Most: tiledWidth + 4, Leap: tiledWidth + 4 - 60, Weight: 2}, Height: layout.Extent{Least: 8, Good: 17, Most: tiledHeight + 8, Weight: 3}},
	Needs: func(r *profiles.RunInfo) bool { return len(r.Schema.Phases) > 0 },
	New:   func(h Host) Pane { return newPhases(h) },
}

// phases shows where the time of an iteration goes.
type phases struct {
	box
	host   Host
	view   phaseView
	layers layerTable
	water  waterfall
}

// phaseView is one way to look at the phases.
type phaseView int

const (
	overview phaseView = iota // bars; with the other views beside them where there is room
	layersView
	rooflineView
	waterfallView
	numPhaseViews
)

var (
	phaseViewNames  = [numPhaseViews]string{"bars", "layers", "roofline", "waterfall"}
	phaseViewTitles = [numPhaseViews]string{"Phases", "Phases · layers", "Phases · roofline", "Phases · waterfall"}
)

// The inside from which the overview shows every view.
const tiledWidth, tiledHeight = 112, 28

// Widths of bars and waterfall in the overview, at least and at most.
const (
	tiledLeft = 46
	tiledMost = 64
)

func newPhases(h Host) *phases {
	return &phases{box: box{title: phaseViewTitles[0]}, host: h, layers: layerTable{host: h}}
}

// Lines is the pane as lines.
func (p *phases) Lines() []string { return p.render(p.draw) }

func phaseStyle(p profiles.Phase) theme.Style { return theme.Phase1 + theme.Style(p) }

// Press changes the view; up and down go through the layers, left and right through
// the iterations of the waterfall.
func (p *phases) Press(key string) bool {
	if key == "v" {
		p.view = (p.view + 1) % numPhaseViews
		p.title, p.stale = phaseViewTitles[p.view], true
		return true
	}
	taken := false
	switch {
	case p.view == layersView || p.view == rooflineView:
		taken = p.layers.press(key)
	case p.view == waterfallView:
		taken = p.water.press(key)
	case p.tiled():
		taken = key == "end" && p.water.held && p.water.press(key) || p.layers.press(key) || p.water.press(key)
	}
	p.stale = p.stale || taken
	return taken
}

// Hints are the keys of the view, and the one that times the layers for all of them.
func (p *phases) Hints() []hint {
	layers := hint{"y", "time layers"}
	if p.snap != nil && settingsOf(p.snap).On(settings.LayerProfile) {
		layers.Does = "stop timing"
	}
	hints := []hint{{"v", phaseViewNames[(p.view+1)%numPhaseViews]}}
	if (p.snap == nil || !ended(p.snap.State)) && p.host.Tunable() {
		hints = append(hints, layers)
	}
	tiled := p.view == overview && p.tiled()
	if tiled || p.view == layersView || p.view == rooflineView {
		hints = append(hints, hint{"↑↓", "layer"})
	}
	if p.view == waterfallView {
		hints = append(hints, hint{"↑↓", "steps"})
	}
	if tiled || p.view == waterfallView {
		hints = append(hints, hint{"←→", "iteration"})
		if p.water.held {
			hints = append(hints, hint{"end", "live"})
		}
	}
	return hints
}

// tiled says whether the overview has room for every view.
func (p *phases) tiled() bool {
	w, h := p.canvas.Size()
	return w-4 >= tiledWidth && h-2 >= tiledHeight
}

func (p *phases) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	switch p.view {
	case layersView:
		return p.layers.draw(c, s, p.edgeRoom()-2)
	case rooflineView:
		p.layers.follow(s)
		return p.layers.roofline(c, s, p.edgeRoom()-2, true)
	case waterfallView:
		note, style := p.water.draw(c, s)
		p.aside(p.water.title, theme.Faint)
		return note, style
	}
	if p.tiled() {
		return p.tiles(c, s)
	}
	w, _ := c.Size()
	p.columnTitles(&p.canvas, 2+w, 0)
	p.bars(c, s)
	return bottleneck(s)
}

// tiles draws all views: bars over the waterfall at the left, layers over the
// roofline at the right.
func (p *phases) tiles(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	part := func(x, y, w, h int, title string) chart.Canvas {
		c.Text(x, y, title, theme.Title)
		return c.Sub(x, y+1, w, h-1)
	}
	upper := h / 2
	left := min(max(w/3, tiledLeft), tiledMost)
	bars := part(0, 0, left, upper, "")
	p.columnTitles(c, left, 0)
	p.bars(&bars, s)
	water := part(0, upper+1, left, h-upper-1, "waterfall")
	p.water.draw(&water, s)
	c.TextRight(left, upper+1, p.water.title, theme.Faint)

	x := left + 3
	table := part(x, 0, w-x, upper, "layers")
	note, style := p.layers.draw(&table, s, p.edgeRoom()-2)
	if len(s.Layers) > 0 {
		plot := part(x, upper+1, w-x, h-upper-1, "roofline")
		p.layers.roofline(&plot, s, p.edgeRoom()-2, false)
	}
	if note == "" {
		return bottleneck(s)
	}
	return note, style
}
