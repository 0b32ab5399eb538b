package pane

import (
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The pane of the phases and its views: bars, the layers' table, roofline and waterfall, beside each other where
// there is room.

// Phases specifies the pane that breaks an iteration down by phase.
var Phases = Spec{
	Name:  "phases",
	Shape: layout.Shape{Width: layout.Extent{Least: 38, Good: 46, Most: 76, Weight: 1}, Height: layout.Extent{Least: 8, Good: 8, Most: 17, Leap: 2, Weight: 2}},
	Roomy: layout.Shape{Width: layout.Extent{Least: 38, Good: 60, Most: tiledWidth + 4, Leap: tiledWidth + 4 - 60, Weight: 2}, Height: layout.Extent{Least: 8, Good: 17, Most: tiledHeight + 8, Weight: 3}},
	Needs: func(r *profiles.RunInfo) bool { return len(r.Schema.Phases) > 0 },
	Rows:  func(r *profiles.RunInfo) int { return len(r.Schema.Phases) },
	New:   func(h Host) Pane { return newPhases(h) },
}

// phases breaks the time of an iteration down by phase.
type phases struct {
	Box
	host   Host
	view   phaseView
	layers layerTable
	water  waterfall
}

// phaseView is a view of the phases.
type phaseView int

const (
	overview phaseView = iota // bars, with the other views around them if there is room
	layersView
	rooflineView
	waterfallView
	numPhaseViews
)

var (
	phaseViewNames  = [numPhaseViews]string{"bars", "layers", "roofline", "waterfall"}
	phaseViewTitles = [numPhaseViews]string{"Phases", "Phases · layers", "Phases · roofline", "Phases · waterfall"}
)

// Minimum inner size at which the overview shows all views.
const tiledWidth, tiledHeight = 112, 28

// Minimum and maximum width of bars and waterfall in the overview.
const (
	tiledLeft = 46
	tiledMost = 64
)

func newPhases(h Host) *phases {
	return &phases{Box: Box{Title: phaseViewTitles[0]}, host: h, layers: layerTable{host: h}}
}

// Cells returns the pane as it is on the screen.
func (p *phases) Cells() *chart.Canvas { return p.Render(p.draw) }

func phaseStyle(s *profiles.Schema, p profiles.Phase) theme.Style {
	return theme.Phase1 + theme.Style(s.PhaseColour(p))
}

// Press switches the view; up and down select a layer, left and right an iteration of the
// waterfall.
func (p *phases) Press(key string) bool {
	if key == "v" {
		p.view = (p.view + 1) % numPhaseViews
		p.Title, p.Stale = phaseViewTitles[p.view], true
		return true
	}
	taken := false
	switch {
	case p.view == layersView || p.view == rooflineView:
		taken = p.layers.Move(key)
	case p.view == waterfallView:
		taken = p.water.press(key)
	case p.tiled():
		taken = key == "end" && p.water.held && p.water.press(key) || p.layers.Move(key) || p.water.press(key)
	}
	p.Stale = p.Stale || taken
	return taken
}

// Hints returns the keys of the view, and the key that switches layer timing on.
func (p *phases) Hints() []Hint {
	layers := Hint{p.host.Keys().Changes(settings.LayerProfile), "time layers"}
	if p.Snap != nil && words.SettingsOf(p.Snap).On(settings.LayerProfile) {
		layers.Does = "stop timing"
	}
	hints := []Hint{{"v", phaseViewNames[(p.view+1)%numPhaseViews]}}
	if (p.Snap == nil || !words.Ended(p.Snap.State)) && p.host.Tunable() && layers.Key != "" {
		hints = append(hints, layers)
	}
	tiled := p.view == overview && p.tiled()
	if tiled || p.view == layersView || p.view == rooflineView {
		hints = append(hints, Hint{"↑↓", "layer"})
	}
	if p.view == waterfallView {
		hints = append(hints, Hint{"↑↓", "steps"})
	}
	if tiled || p.view == waterfallView {
		hints = append(hints, Hint{"←→", "iteration"})
		if p.water.held {
			hints = append(hints, Hint{"end", "live"})
		}
	}
	return hints
}

// tiled reports whether the overview has room for all views.
func (p *phases) tiled() bool {
	w, h := p.Canvas.Size()
	return w-4 >= tiledWidth && h-2 >= tiledHeight
}

func (p *phases) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	switch p.view {
	case layersView:
		return p.layers.draw(c, s, p.EdgeRoom()-2)
	case rooflineView:
		p.layers.follow(s)
		return p.layers.roofline(c, s, p.EdgeRoom()-2, true)
	case waterfallView:
		note, style := p.water.draw(c, s)
		note = p.host.Keys().Say(profiles.Advice(note))
		p.Aside(p.water.title, theme.Faint)
		return note, style
	}
	if p.tiled() {
		return p.tiles(c, s)
	}
	w, h := c.Size()
	p.columnTitles(&p.Canvas, 2+w, 0)
	if tallPhases(s, h) && w-phaseNameWidth-phaseNumbers-2 > trendWidth+sparkMin {
		p.Canvas.Text(phaseNameWidth+2, 0, " trend ", theme.Faint)
	}
	p.bars(c, s)
	return bottleneck(s, p.EdgeRoom()-2)
}

// tiles draws all views: bars above the waterfall on the left, layers above the roofline on the
// right.
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
	note, style := p.layers.draw(&table, s, p.EdgeRoom()-2)
	if len(s.Layers) > 0 {
		plot := part(x, upper+1, w-x, h-upper-1, "roofline")
		p.layers.roofline(&plot, s, p.EdgeRoom()-2, false)
	}
	if note == "" {
		return bottleneck(s, p.EdgeRoom()-2)
	}
	return note, style
}

// Explain describes the phases and how they are timed.
func (p *phases) Explain() []string {
	phases := ""
	if p.Snap != nil {
		var named []string
		for _, info := range p.Snap.Run.Schema.Phases {
			named = append(named, described(info.Name, info.What))
		}
		phases = ": " + strings.Join(named, ", ")
	}
	return explanations.Of("phases", "{phases}", phases)
}

// described returns a name with its description in parentheses, if there is one.
func described(name, what string) string {
	if what == "" {
		return name
	}
	return name + " (" + what + ")"
}
