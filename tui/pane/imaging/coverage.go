package imaging

import (
	"fmt"
	"math"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The views of the k-space pane beyond the apertures: how densely k-space was measured, as a map and by rings, with
// their keys and legend.

// kspaceView is a view of the k-space pane.
type kspaceView uint8

// The views, in the order in which v switches through them.
const (
	apertureView kspaceView = iota
	densityView             // how often each frequency was measured
	ringView                // measured share of each ring
	numKspaceViews
)

// gridSide is the number of points across the coverage grid, and ringBins its number of rings.
const (
	gridSide = 128
	ringBins = gridSide / 2
)

// coverage counts how many apertures cover each point of k-space, updated as samples arrive.
type coverage struct {
	counts []float32
	most   float32
	next   int // first sample not yet counted
	of     coverageKey
}

// coverageKey identifies the run and geometry that the counts belong to.
type coverageKey struct {
	centres  *[2]float64
	n, per   int
	extent   float64
	aperture aperture
}

// count counts the samples before last. It counts only new samples, and starts again if the run
// is another or went back.
func (v *coverage) count(s *profiles.Snapshot, extent float64, last int) {
	k := s.Run.KSpace()
	key := coverageKey{&k.Centres[0], len(k.Centres), max(k.PerSample, 1), extent, apertureOf(s)}
	last = min(max(last, 0), (key.n+key.per-1)/key.per)
	if v.of != key || v.next > last || v.counts == nil {
		*v = coverage{of: key, counts: make([]float32, gridSide*gridSide)}
	}
	for ; v.next < last; v.next++ {
		for _, c := range k.Centres[v.next*key.per : min((v.next+1)*key.per, key.n)] {
			v.add(c)
		}
	}
}

// add counts one aperture.
func (v *coverage) add(centre [2]float64) {
	r := v.of.aperture.radius
	if !(r > 0) || math.IsInf(r, 0) || math.IsNaN(centre[0]+centre[1]) {
		return
	}
	pixel := v.of.extent / gridSide
	at := func(k float64) int { return int(math.Floor(min(max(k/pixel+gridSide/2.0, -1), gridSide))) }
	for y := max(at(centre[0]-r), 0); y <= min(at(centre[0]+r), gridSide-1); y++ {
		for x := max(at(centre[1]-r), 0); x <= min(at(centre[1]+r), gridSide-1); x++ {
			dy := (float64(y)+0.5-gridSide/2.0)*pixel - centre[0]
			dx := (float64(x)+0.5-gridSide/2.0)*pixel - centre[1]
			if v.of.aperture.holds(dx, dy) {
				n := &v.counts[y*gridSide+x]
				*n++
				v.most = max(v.most, *n)
			}
		}
	}
}

// rings returns the measured share of each ring, from the centre outwards.
func (v *coverage) rings() (share [ringBins]float64) {
	var all [ringBins]float64
	for i, n := range v.counts {
		dy, dx := float64(i/gridSide)+0.5-gridSide/2.0, float64(i%gridSide)+0.5-gridSide/2.0
		bin := int(math.Hypot(dx, dy))
		if bin >= ringBins {
			continue
		}
		all[bin]++
		if n > 0 {
			share[bin]++
		}
	}
	for i := range share {
		share[i] /= max(all[i], 1)
	}
	return share
}

// coloured reports whether the map is drawn in colour.
func (p *kspace) coloured() bool { return p.Theme.Pictures() && !p.cheap }

// density draws how often each point was measured, and returns a legend of the colours.
func (p *kspace) density(c *chart.Canvas) string {
	w, h := c.Size()
	pw, ph := chart.Fit(1, 1, w, 2*h)
	img := chart.Image{Width: gridSide, Height: gridSide, Pixels: p.seen.counts, White: max(p.seen.most, 1)}
	colors, dark, bright := p.colors, "black", "white"
	if colors == theme.Viridis {
		dark, bright = "violet", "yellow"
	}
	switch {
	case p.coloured():
		p.raster.Sample(img, chart.Form{Way: chart.HalfBlocks, Colors: colors, Depth: p.Theme.Depth, W: pw, H: ph})
	case p.Theme.ASCII:
		p.raster.Sample(img, chart.Form{Way: chart.Ramp, W: pw, H: (ph + 1) / 2})
		dark, bright = "blank", "@"
	default:
		p.raster.Sample(img, chart.Form{Way: chart.Dots, W: 2 * pw, H: 2 * ph})
		dark, bright = "empty", "full"
	}
	p.raster.Plan(chart.Sharp)
	p.raster.Adopt()
	p.raster.Draw(c, (w-pw)/2, 0)
	return words.FittingOrLast(p.EdgeRoom()-2, fmt.Sprintf("%s never, %s %.0f×", dark, bright, p.seen.most),
		fmt.Sprintf("%s %.0f×", bright, p.seen.most))
}

// rings draws the measured share of each ring as bars over the radius.
func (p *kspace) rings(c *chart.Canvas, extent float64) string {
	const label = 5
	w, h := c.Size()
	if w <= label+4 || h < 4 {
		return ""
	}
	c.TextRight(label-1, 0, "100%", theme.Axis)
	c.TextRight(label-1, h-2, "0%", theme.Axis)
	plot := c.Sub(label, 0, w-label, h-1)
	share := p.seen.rings()
	columns, dots := 2*(w-label), 4*(h-1)
	for x := range columns {
		top := int(math.Round(share[x*ringBins/columns] * float64(dots)))
		for y := range top {
			plot.Dot(x, dots-1-y, theme.Done)
		}
	}
	c.Text(label, h-1, "0", theme.Axis)
	c.TextRight(w, h-1, fmt.Sprintf("%.0f px", extent/2), theme.Axis)
	return words.FittingOrLast(p.EdgeRoom()-2, "share of each ring measured, from the centre to the edge",
		"share of each ring measured", "measured by ring", "by ring")
}

// legend writes the names of the apertures into the lower edge, each in its colour. In a run
// that has ended there is no next aperture, and the current one was cut off.
func (p *kspace) legend(s *profiles.Snapshot, current int) {
	_, h := p.Canvas.Size()
	x, end := 2, 2+p.EdgeRoom()
	type part struct {
		text  string
		style theme.Style
	}
	parts := []part{{" ⢕ done", theme.Done}, {" ⣿ now", theme.Current}, {" ○ next ", theme.Next}}
	switch {
	case words.Ended(s.State) && current < 0:
		parts = []part{{" ⢕ done ", theme.Done}}
	case words.Ended(s.State):
		parts = []part{{" ⢕ done", theme.Done}, {" ⣿ cut off ", theme.Current}}
	}
	for _, part := range parts {
		if x+chart.Width(part.text) > end {
			return
		}
		x = p.Canvas.Text(x, h-1, part.text, part.style)
	}
}

// Update redraws the pane only if its data changed.
func (p *kspace) Update(s *profiles.Snapshot) {
	before := p.Snap
	p.Snap = s
	if before == nil {
		p.Stale = true
		return
	}
	was, is := before.Run.KSpace(), s.Run.KSpace()
	if before.Unit != s.Unit || before.State != s.State || coveredShare(before) != coveredShare(s) ||
		before.UnitsEnded() != s.UnitsEnded() || len(was.Centres) != len(is.Centres) ||
		before.Run.Units != s.Run.Units || was.Size != is.Size ||
		was.PerSample != is.PerSample || before.Settings.Number("roi_diameter") != s.Settings.Number("roi_diameter") ||
		apertureOf(before) != apertureOf(s) || len(is.Centres) > 0 && was.Centres[0] != is.Centres[0] {
		p.Stale = true
	}
}

// Press handles v, which switches the view, and x, which switches the colours of the map.
func (p *kspace) Press(key string) bool {
	switch key {
	case "v":
		p.view = (p.view + 1) % numKspaceViews
		p.said = "k-space: " + [numKspaceViews]string{
			"apertures", "how often each frequency was measured", "what share of each ring was measured"}[p.view]
	case "x":
		switch {
		case p.view != densityView:
			p.said = "k-space: only the map has colours to change; {view|another view} shows it"
			return true
		case !p.coloured():
			p.said = "k-space: the map has colours on a terminal of 256 or more, where the line is fast enough"
			return true
		}
		p.colors = (p.colors + 1) % theme.Diverging
		p.said = "colours: " + [2]string{"grey", "viridis"}[p.colors]
	default:
		return false
	}
	p.Stale = true
	return true
}

// Tell reports the effect of the last key, once.
func (p *kspace) Tell() string {
	said := p.said
	p.said = ""
	return said
}

// Hints returns the keys of Press.
func (p *kspace) Hints() []pane.Hint {
	return []pane.Hint{{Key: "v", Does: "coverage, rings"}, {Key: "x", Does: "colours"}}
}
