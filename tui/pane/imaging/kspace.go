package imaging

import (
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The pane of k-space: the apertures to scale, and how many samples there are.

// KSpace specifies the pane of the apertures' positions in k-space.
var KSpace = pane.Spec{
	Name:  "k-space",
	Shape: layout.Shape{Width: layout.Extent{Least: 20, Good: 32, Most: 32, Weight: 3}, Height: layout.Extent{Least: 8, Good: 17, Most: 36, Weight: 4}, Square: true},
	Needs: func(r *profiles.RunInfo) bool { return len(r.KSpace().Centres) > 0 },
	New:   func(pane.Host) pane.Pane { return newKspace() },
}

// kspace draws the apertures in k-space to scale: those measured, the one being trained, and the
// next.
type kspace struct {
	pane.Box
	view   kspaceView
	colors theme.Map
	cheap  bool // the line to the terminal is slow
	said   string
	seen   coverage
	raster chart.Raster
}

func newKspace() *kspace { return &kspace{Box: pane.Box{Title: "k-space"}, colors: theme.Viridis} }

// SetBudget sets whether the map is drawn in the cheapest way.
func (p *kspace) SetBudget(_ int, cheapest bool) { p.cheap, p.Stale = cheapest, true }

// Cells returns the pane as it is on the screen.
func (p *kspace) Cells() *chart.Canvas { return p.Render(p.draw) }

// Explain describes the drawing.
func (p *kspace) Explain() []string { return explanations.Of("k-space") }

func (p *kspace) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	extent := kspaceExtent(s)
	if len(s.Run.KSpace().Centres) == 0 || extent <= 0 {
		pane.Message(c, "no apertures"+words.Yet(s))
		return "", theme.Faint
	}
	done, current, next := measuredSamples(s)
	seen := strings.TrimSpace(unit.PercentFine(coveredShare(s)))
	count := fmt.Sprintf("%d/%d", sampleInPass(s, current), s.Run.Units)
	if long := s.Run.Schema.Unit.One + " " + count + passText(s); w >= chart.Width(long)+len(seen)+7 {
		c.Text(0, h-1, long, theme.Strong)
		c.TextRight(w, h-1, seen+" seen", theme.Faint)
	} else {
		c.Text(0, h-1, words.FittingOrLast(w-len(seen)-2, count+passText(s), count), theme.Strong)
		c.TextRight(w, h-1, seen, theme.Faint)
	}

	p.Aside(fmt.Sprintf("%.0f px across", extent), theme.Faint)
	area := c.Sub(0, 0, w, h-1)
	if p.view == apertureView {
		p.apertures(&area, s, extent, done, current, next)
		p.legend(s, current)
		return "", theme.Faint
	}
	p.seen.count(s, extent, max(done, current+1)) // the accumulated mask includes the aperture being trained
	if p.view == ringView {
		return p.rings(&area, extent), theme.Faint
	}
	return p.density(&area), theme.Faint
}

// sampleInPass returns the number of the current sample as the header counts it, from 1, but within its pass; of a
// run that has ended, the number of samples.
func sampleInPass(s *profiles.Snapshot, current int) int {
	if current < 0 {
		return min(s.UnitsEnded(), s.Run.Units)
	}
	return current + 1
}

// passText follows the number of samples if the pattern is trained several times.
func passText(s *profiles.Snapshot) string {
	if s.Run.Passes <= 1 {
		return ""
	}
	_, pass := s.Run.Place(s.Unit)
	return fmt.Sprintf(" · pass %d/%d", pass+1, s.Run.Passes)
}

// apertures draws the measured apertures, the current one and the next.
func (p *kspace) apertures(c *chart.Canvas, s *profiles.Snapshot, extent float64, done, current, next int) {
	w, h := c.Size()
	columns, rows := chart.Fit(1, 1, w, 2*h)
	plot := c.Sub((w-columns)/2, 0, columns, (rows+1)/2)
	a := aperturePlot{canvas: &plot, scale: float64(2*columns-1) / extent, middle: float64(2*columns-1) / 2,
		snap: s, aperture: apertureOf(s)}
	a.edge(regionOf(s)/2, theme.Frame)
	a.samples(0, done, func(c [2]float64) { a.fill(c, 2, theme.Done) })
	if next >= 0 {
		a.samples(next, next+1, func(c [2]float64) { a.circle(c, s.Run.KSpace().Radius, 1, theme.Next) })
	}
	a.samples(current, current+1, func(c [2]float64) { a.fill(c, 1, theme.Current) })
}

// regionOf returns the diameter of the sampled disc, in pixels.
func regionOf(s *profiles.Snapshot) float64 {
	if d := s.Settings.Number("roi_diameter"); d > 0 {
		return d
	}
	return float64(s.Run.KSpace().Size)
}

// kspaceExtent returns the side of the drawn square, in pixels of k-space: the sampled disc with
// its outermost apertures, at most the whole field.
func kspaceExtent(s *profiles.Snapshot) float64 {
	k, reach := s.Run.KSpace(), regionOf(s)/2
	for _, c := range k.Centres {
		if r := math.Hypot(c[0], c[1]) + k.Radius; !math.IsNaN(r) {
			reach = max(reach, r)
		}
	}
	if size := float64(k.Size) / 2; size > 0 {
		reach = min(reach, size)
	}
	return 2 * reach
}

// aperturePlot draws apertures as braille dots. DC is in the centre; the first coordinate of a
// centre grows downwards.
type aperturePlot struct {
	canvas        *chart.Canvas
	scale, middle float64 // dots per pixel of k-space; position of DC in dots
	snap          *profiles.Snapshot
	aperture      aperture
}

func (a *aperturePlot) dot(v float64) int { return int(math.Round(a.middle + v*a.scale)) }

// fill sets every step-th dot of an aperture in a checkered pattern.
func (a *aperturePlot) fill(centre [2]float64, step int, style theme.Style) {
	r := a.aperture.radius
	if !(r > 0) || math.IsNaN(centre[0]+centre[1]) {
		return
	}
	w, _ := a.canvas.Size()
	limit := 2 * w
	for y := max(a.dot(centre[0]-r), 0); y <= min(a.dot(centre[0]+r), limit); y++ {
		for x := max(a.dot(centre[1]-r), 0); x <= min(a.dot(centre[1]+r), limit); x++ {
			dy := (float64(y)-a.middle)/a.scale - centre[0]
			dx := (float64(x)-a.middle)/a.scale - centre[1]
			if (x+y)%step == 0 && a.aperture.holds(dx, dy) {
				a.canvas.Dot(x, y, style)
			}
		}
	}
	a.canvas.Dot(a.dot(centre[1]), a.dot(centre[0]), style) // at least one dot
}

// aperture is the shape of a run's apertures (spec/prism.md §2.3), without vanes.
type aperture struct {
	shape         string
	radius, inner float64
}

func apertureOf(s *profiles.Snapshot) aperture {
	return aperture{s.Settings.Text("aperture"), s.Run.KSpace().Radius, s.Settings.Number("inner_radius")}
}

// holds reports whether a point is inside, given its offsets from the centre.
func (a aperture) holds(dx, dy float64) bool {
	r := a.radius
	switch a.shape {
	case "hexagonal":
		return max(math.Abs(dx), math.Abs(dx)/2+math.Sqrt(3)*math.Abs(dy)/2) <= r
	case "obscured":
		d := dx*dx + dy*dy
		return d <= r*r && d >= a.inner*a.inner
	}
	return dx*dx+dy*dy <= r*r
}

// edge draws the dotted border of the sampled region.
func (a *aperturePlot) edge(radius float64, style theme.Style) {
	a.circle([2]float64{}, radius, 3, style)
}

// samples calls draw with the centres of the samples from first up to but excluding last.
func (a *aperturePlot) samples(first, last int, draw func([2]float64)) {
	k := a.snap.Run.KSpace()
	per := max(k.PerSample, 1)
	for i := max(first, 0) * per; i < min(last*per, len(k.Centres)); i++ {
		draw(k.Centres[i])
	}
}

func (a *aperturePlot) circle(centre [2]float64, radius float64, every int, style theme.Style) {
	if !(radius > 0) || math.IsNaN(centre[0]+centre[1]) {
		return
	}
	n := min(max(8, int(2*math.Pi*radius*a.scale)), 4096)
	for i := 0; i < n; i += every {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		a.canvas.Dot(a.dot(centre[1]+radius*cos), a.dot(centre[0]+radius*sin), style)
	}
}

// measuredSamples returns the number of places of the pattern that were trained or passed, the
// current place and the next one, −1 for none. In a run that has ended there is no next place,
// and the one that was being trained was cut off.
func measuredSamples(s *profiles.Snapshot) (done, current, next int) {
	current, pass := s.Run.Place(s.Unit)
	done, next = max(current, 0), current+1
	if next == s.Run.Units {
		if next = -1; s.Unit+1 < s.Run.AllUnits() {
			next = 0
		}
	}
	if words.Ended(s.State) {
		next = -1
		if ended := s.UnitsEnded(); s.Unit < ended {
			done, current = min(ended, s.Run.Units), -1
		}
	}
	if pass > 0 {
		done = s.Run.Units
	}
	return min(done, s.Run.Units), current, next
}
