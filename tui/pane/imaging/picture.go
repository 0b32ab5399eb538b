// Package imaging is the panes of workloads that reconstruct a picture: the reconstruction, the
// apertures in k-space, and the quality against the truth.
package imaging

import (
	"math"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// Reconstruction is the pane of the reconstruction, the truth and their difference.
var Reconstruction = pane.Spec{
	Name:  "reconstruction",
	Shape: layout.Shape{Width: layout.Extent{Least: 22, Good: 32, Most: 61, Weight: 3}, Height: layout.Extent{Least: 8, Good: 17, Most: 36, Weight: 4}, Square: true, Pair: true},
	Needs: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(reconstructionPicture) >= 0 },
	New:   func(h pane.Host) pane.Pane { return newPicture(h.Now, h.Graphics()) },
}

// How often the picture may change, whatever it costs: nobody sees more than a
// few pictures a second, and a slow line has other things to carry.
const (
	picturePeriod    = 340 * time.Millisecond
	lowPicturePeriod = time.Second
)

// smallestPair is the width from which pictures stand side by side, each so many
// pixels wide.
const smallestPair = 24

// pictureView is what the pane shows.
type pictureView uint8

// The views, in the order in which v goes through them.
const (
	sideBySide pictureView = iota // as many of the others as have room
	reconstructionView
	truthView
	differenceView
	numPictureViews
)

// picture is the reconstruction, with the truth and the difference of the two.
type picture struct {
	pane.Box
	now      func() time.Time
	graphics *terminal.Graphics
	pace     terminal.Bucket
	rich     *theme.Theme // as the terminal has it

	view   pictureView
	wanted drawing
	colors theme.Map
	size   bool   // the difference without its sign
	said   string // what the last key did

	shown  *profiles.Picture
	at     time.Time
	due    bool // pictures may change when they are drawn next
	panels [terminal.PictureSlots]panel
	scale  amplitudes
}

func newPicture(now func() time.Time, graphics *terminal.Graphics) *picture {
	return &picture{Box: pane.Box{Title: "Reconstruction"}, now: now, graphics: graphics, pace: terminal.NewBucket(terminal.PictureBudget, now())}
}

// Lines is the pane as lines.
func (p *picture) Lines() []string { return p.Render(p.draw) }

// SetBudget says how many bytes per second pictures may cost; 0 is without a
// bound. A low budget draws them the cheapest way.
func (p *picture) SetBudget(bytesPerSecond int, _ bool) {
	p.pace = terminal.NewBucket(bytesPerSecond, p.now())
	p.Stale = true
	p.recolourFor(p.rich)
}

// SetSize also takes the pictures from the terminal where the pane is not shown.
func (p *picture) SetSize(w, h int) {
	p.Box.SetSize(w, h)
	if w < 2 || h < 2 {
		p.clear()
	}
}

// clear takes every picture from the terminal.
func (p *picture) clear() {
	for slot := range terminal.PictureSlots {
		p.graphics.Remove(slot)
	}
}

// SetTheme also begins anew with the ways of drawing that the terminal has.
func (p *picture) SetTheme(t *theme.Theme) {
	p.recolourFor(t)
	p.said = ""
}

// recolourFor takes a theme, with fewer colours where the line is slow.
func (p *picture) recolourFor(t *theme.Theme) {
	p.rich = t
	if t != nil && p.pace.Low() {
		t = t.Coarse()
	}
	p.Box.SetTheme(t)
}

// Update adopts the snapshot's picture unless the picture changed a moment ago
// and the run goes on to deliver others.
func (p *picture) Update(s *profiles.Snapshot) {
	before := p.Snap
	p.Snap = s
	now := p.now()
	p.pace.Fill(now)
	period := picturePeriod
	if p.pace.Low() {
		period = lowPicturePeriod
	}
	p.due = s.State != profiles.Running || now.Sub(p.at) >= period
	if p.due && (s.Picture(reconstructionPicture) != p.shown || !p.exact()) {
		p.shown, p.at, p.Stale = s.Picture(reconstructionPicture), now, true
	}
	if before == nil || before.Picture(truthPicture) != s.Picture(truthPicture) || !sameMetrics(before, s) {
		p.Stale = true
	}
}

// exact says whether every panel shows all of its picture.
func (p *picture) exact() bool {
	for i := range p.panels {
		if p.panels[i].behind {
			return false
		}
	}
	return true
}

func (p *picture) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	edge := p.quality(c, s)
	if p.shown == nil {
		p.clear()
		pane.Message(c, "no picture"+words.Yet(s))
		return "", theme.Faint
	}
	way, _ := p.drawing()
	placed := p.place(s, w, h-1, way)
	for slot := range terminal.PictureSlots {
		if way != kittyDrawing || !has(placed, slot) {
			p.graphics.Remove(slot)
		}
	}
	switch {
	case way == noDrawing:
		pane.Message(c, "picture off: i shows it")
	case len(placed) == 0:
		pane.Message(c, "no truth to compare with")
	default:
		p.scale.measure(p.shown, s.Picture(truthPicture))
		area := c.Sub(0, 0, w, h-1)
		p.paint(&area, placed, way)
		if len(placed) > 1 {
			for _, at := range placed {
				name := panelNames[at.slot]
				if x := at.x + at.w - chart.Width(name); at.slot != reconstructionPanel && x > edge+1 {
					c.Text(x, h-1, name, theme.Faint)
				}
			}
		}
	}
	p.due = false
	p.Aside(p.heading(placed), theme.Faint)
	return p.legend(placed, way), theme.Faint
}

// placed is a panel and the columns it stands in.
type placed struct{ slot, x, w int }

func has(all []placed, slot int) bool {
	for _, at := range all {
		if at.slot == slot {
			return true
		}
	}
	return false
}

// place finds the panels of the view and their columns in w by h cells. Views
// of a truth that is not known are empty.
func (p *picture) place(s *profiles.Snapshot, w, h int, way drawing) []placed {
	comparable := s.Picture(truthPicture) != nil && s.Picture(truthPicture).Width == p.shown.Width && s.Picture(truthPicture).Height == p.shown.Height
	var slots []int
	switch p.view {
	case reconstructionView:
		slots = []int{reconstructionPanel}
	case truthView:
		if s.Picture(truthPicture) != nil {
			slots = []int{truthPanel}
		}
	case differenceView:
		if comparable {
			slots = []int{differencePanel}
		}
	default:
		slots = []int{reconstructionPanel}
		whole, _ := p.extent(w, h, way)
		each := func(n int) int { return (w - n + 1) / n }
		if s.Picture(truthPicture) != nil && each(2) >= max(whole*2/3, smallestPair) {
			slots = append(slots, truthPanel)
		}
		if comparable && each(3) >= max(whole/2, 2*smallestPair) {
			slots = append(slots, differencePanel)
		}
	}
	n := len(slots)
	if n == 0 {
		return nil
	}
	pw, _ := p.extent((w-n+1)/n, h, way)
	gap := w - n*pw
	all := make([]placed, n)
	for i, slot := range slots {
		all[i] = placed{slot, gap*(i+1)/(n+1) + i*pw, pw}
	}
	return all
}

// extent is the size in cells of the picture in a box of w by h cells.
func (p *picture) extent(w, h int, way drawing) (cw, ch int) {
	if way == kittyDrawing {
		x, y := p.graphics.CellSize()
		pw, ph := chart.Fit(p.shown.Width, p.shown.Height, min(w, chart.MaxPlaces)*x, min(h, chart.MaxPlaces)*y)
		return (pw + x - 1) / x, (ph + y - 1) / y
	}
	pw, ph := chart.Fit(p.shown.Width, p.shown.Height, w, 2*h)
	return pw, (ph + 1) / 2
}

// heading is the view's name, where it is not what everyone expects.
func (p *picture) heading(all []placed) string {
	if len(all) == 1 && all[0].slot != reconstructionPanel {
		return panelNames[all[0].slot]
	}
	return ""
}

// legend says what the ends of the scale mean.
func (p *picture) legend(all []placed, way drawing) string {
	if len(all) == 0 || way == noDrawing {
		return ""
	}
	var parts, brief []string
	bright := "white"
	if p.colors == theme.Viridis && p.coloured(way) {
		bright = "violet 0, yellow"
	}
	if has(all, reconstructionPanel) || has(all, truthPanel) {
		parts = append(parts, bright+" "+strings.TrimSpace(amplitude(p.scale.white)))
		brief = parts[:1:1]
	}
	if has(all, differencePanel) {
		d := strings.TrimSpace(amplitude(p.scale.difference))
		if p.signed(way) {
			parts = append(parts, "blue −"+d+", orange +"+d)
			brief = append(brief, "blue − orange + "+d)
		} else {
			parts = append(parts, bright+" |"+d+"|")
			brief = append(brief, bright+" |"+d+"|")
		}
	}
	return words.FittingParts(p.EdgeRoom()-2, parts, brief)
}

func amplitude(v float32) string { return unit.Fixed(float64(v), 5) }

// quality writes the newest metrics in the last row and returns the column after
// them.
func (p *picture) quality(c *chart.Canvas, s *profiles.Snapshot) int {
	w, h := c.Size()
	if !wasCompared(s) {
		text := words.FittingOrLast(w, "quality: not measured"+words.Yet(s), "not measured"+words.Yet(s))
		return c.Text(0, h-1, chart.Cut(text, w), theme.Faint)
	}
	x := 0
	put := func(label, value string) {
		if x+chart.Width(label)+chart.Width(value)+1 > w {
			return
		}
		x = c.Text(x, h-1, label, theme.Faint)
		x = c.Text(x, h-1, value, theme.Strong) + 2
	}
	if w < 26 {
		c.Text(0, h-1, strings.TrimPrefix(unit.PSNR(s.Of(words.PSNRSeries).Latest), " "), theme.Strong)
		c.TextRight(w, h-1, "SSIM"+unit.SSIM(s.Of(words.SSIMSeries).Latest), theme.Plain)
		return w
	}
	put("PSNR", unit.PSNR(s.Of(words.PSNRSeries).Latest))
	put("SSIM", unit.SSIM(s.Of(words.SSIMSeries).Latest))
	put("RMSE ", unit.Fixed(s.Of(rmseSeries).Latest, 5)+" %")
	return x - 2
}

// amplitudes are the ends of the scales.
type amplitudes struct {
	white      float32 // the amplitude drawn white
	difference float32 // the difference drawn in full colour
	signed     []float32
	of         *profiles.Picture // whose brightest white is
	between    [2]*profiles.Picture
}

// measure finds the scales: white is the truth's brightest, so that it stands
// still, or the picture's own where there is no truth. The difference's is round
// and only moves when it no longer fits, or when a narrower one does with a quarter to
// spare.
func (a *amplitudes) measure(shown, truth *profiles.Picture) {
	of := truth
	if of == nil {
		of = shown
	}
	if of != a.of {
		a.of, a.white = of, 0
		for _, v := range of.Pixels {
			if v > a.white && v < 1e30 {
				a.white = v
			}
		}
	}
	if truth == nil || len(truth.Pixels) != len(shown.Pixels) || a.between == [2]*profiles.Picture{shown, truth} {
		return
	}
	a.between = [2]*profiles.Picture{shown, truth}
	if len(a.signed) != len(shown.Pixels) {
		a.signed = make([]float32, len(shown.Pixels))
	}
	largest := 0.0
	for i, v := range shown.Pixels {
		d := v - truth.Pixels[i]
		a.signed[i] = d
		if m := math.Abs(float64(d)); m > largest && m < 1e30 {
			largest = m
		}
	}
	if round := float32(roundUp(largest)); round > a.difference || float32(roundUp(largest*1.25)) < a.difference {
		a.difference = round
	}
}

// roundUp is the next of 1, 2 and 5 times a power of ten from v on.
func roundUp(v float64) float64 {
	if !(v > 1e-12) {
		return 1e-12
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 5} {
		if v <= step*power*(1+1e-9) {
			return step * power
		}
	}
	return 10 * power
}
