// Package imaging provides the panes of workloads that reconstruct a picture: the
// reconstruction, the apertures in k-space, and the quality compared with the truth.
package imaging

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/keys"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// The pane of the reconstruction, the truth and their difference: its views, the places of its panels, and the scale
// of values.

// Reconstruction specifies the pane of the reconstruction, the truth and their difference.
var Reconstruction = pane.Spec{
	Name:  "reconstruction",
	Shape: layout.Shape{Width: layout.Extent{Least: 22, Good: 32, Most: 61, Weight: 3}, Height: layout.Extent{Least: 8, Good: 17, Most: 36, Weight: 4}, Square: true, Pair: true},
	Needs: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(reconstructionPicture) >= 0 },
	New:   func(h pane.Host) pane.Pane { return pictureOn(h, amplitudeSubject) },
}

// Minimum times between two pictures regardless of the budget: the eye sees only a few pictures
// per second, and a slow line has other data to carry.
const (
	picturePeriod    = 340 * time.Millisecond
	lowPicturePeriod = time.Second
)

// Minimum widths of pictures drawn side by side, in cells: of two, of three, and of a visible part.
const (
	smallestPair = 12
	smallestTrio = 24
	smallestPart = 32
)

// captionRows is the inner height from which a row beneath the pictures is kept for their names.
const captionRows = 12

// pictureView is a view of the picture pane.
type pictureView uint8

// The views, in the order in which v switches through them.
const (
	sideBySide pictureView = iota // as many of the other views as fit
	reconstructionView
	truthView
	differenceView
	residualView
	numPictureViews
)

// picture shows the reconstruction, the truth and their difference.
type picture struct {
	pane.Box
	of       *subject
	now      func() time.Time
	graphics *terminal.Graphics
	pace     terminal.Bucket
	rich     *theme.Theme // the full theme of the terminal

	view   pictureView
	wanted drawing
	colors theme.Map
	size   bool   // absolute differences, without sign
	said   string // effect of the last key

	scaled           int     // index into scales
	middleX, middleY float64 // middle of the visible part, as shares of the picture's sides
	seen             window  // visible part, as last drawn

	shown  *profiles.Picture
	at     time.Time
	due    bool // pictures may change at the next drawing
	panels [numPanels]panel
	scale  amplitudes
	errors spectrum
	keys   func() *keys.Table // nil for a pane without a screen
}

// pictureOn returns the pane of a subject on a screen.
func pictureOn(h pane.Host, of *subject) *picture {
	p := newPicture(h.Now, h.Graphics(), of)
	p.keys = h.Keys
	return p
}

func newPicture(now func() time.Time, graphics *terminal.Graphics, of *subject) *picture {
	return &picture{Box: pane.Box{Title: of.title}, of: of, now: now, graphics: graphics,
		pace:    terminal.NewBucket(terminal.PictureBudget, now()),
		middleX: 0.5, middleY: 0.5}
}

// shows says which key draws the picture again.
func (p *picture) shows() string {
	if p.keys == nil {
		return ""
	}
	return p.keys().Say(": {draw|drawing} shows it")
}

// Cells returns the pane as it is on the screen.
func (p *picture) Cells() *chart.Canvas { return p.Render(p.draw) }

// SetBudget sets the bytes per second that pictures may take; 0 is no limit. With a low budget
// they are drawn in the cheapest way.
func (p *picture) SetBudget(bytesPerSecond int, _ bool) {
	p.pace = terminal.NewBucket(bytesPerSecond, p.now())
	p.Stale = true
	p.recolourFor(p.rich)
}

// SetSize also removes the pictures from the terminal if the pane is hidden.
func (p *picture) SetSize(w, h int) {
	p.Box.SetSize(w, h)
	if w < 2 || h < 2 {
		p.clear()
	}
}

// clear removes all pictures from the terminal.
func (p *picture) clear() {
	for slot := range numPanels {
		p.graphics.Remove(p.of.first + slot)
	}
}

// SetTheme also adapts the colours of the pictures and drops the reply to the last key.
func (p *picture) SetTheme(t *theme.Theme) {
	p.recolourFor(t)
	p.said = ""
}

// recolourFor sets a theme, with fewer colours if the line is slow.
func (p *picture) recolourFor(t *theme.Theme) {
	p.rich = t
	if t != nil && p.pace.Low() {
		t = t.Coarse()
	}
	p.Box.SetTheme(t)
}

// Update takes the snapshot's picture unless it changed a moment ago and the run will deliver
// another.
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
	if p.due && (s.Picture(p.of.picture) != p.shown || !p.exact()) {
		p.shown, p.at, p.Stale = s.Picture(p.of.picture), now, true
	}
	if before == nil || before.Picture(p.of.truth) != s.Picture(p.of.truth) || !sameMetrics(before, s) ||
		words.Ended(before.State) != words.Ended(s.State) { // what is missing will not come
		p.Stale = true
	}
}

// exact reports whether all panels show their pictures in full.
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
	edge := p.of.foot(p, c, s)
	if p.shown == nil {
		p.clear()
		pane.Message(c, "no picture"+words.Yet(s))
		return "", theme.Faint
	}
	way, _ := p.drawing()
	rows := h - 1
	if h >= captionRows {
		rows--
	}
	placed := p.place(s, w, rows, way)
	if len(placed) < 2 {
		rows = h - 1
		placed = p.place(s, w, rows, way)
	}
	for slot := range numPanels {
		if way != kittyDrawing || !has(placed, slot) {
			p.graphics.Remove(p.of.first + slot)
		}
	}
	p.seen = window{}
	below := ""
	switch {
	case way == noDrawing:
		pane.Message(c, "picture off"+p.shows())
	case len(placed) == 0:
		pane.Message(c, "no truth to compare with")
	default:
		truth := s.Picture(p.of.truth)
		p.scale.measure(p.shown, truth, p.of.white)
		if has(placed, residualPanel) {
			p.errors.update(s, p.shown, truth, p.now())
		}
		area := c.Sub(0, 0, w, rows)
		bottom := p.paint(&area, placed, way)
		p.captions(c, placed, min(bottom, h-1), edge)
		iw, ih := p.sizeOf(placed[0].slot)
		p.seen = p.window(iw, ih, placed[0].w, rows, way, p.scaleOf(placed[0].slot))
		var aside string
		aside, below = p.scaleNote(p.heading(placed), p.whereabouts(p.seen, iw, ih, way))
		p.Aside(aside, theme.Faint)
	}
	p.due = false
	return p.legend(placed, way, below), theme.Faint
}

// captions writes the names of pictures that are drawn side by side into a row: centred beneath them, or,
// in the last row, at their right ends as far as the text that ends at column edge leaves room.
func (p *picture) captions(c *chart.Canvas, all []placed, row, edge int) {
	if len(all) < 2 {
		return
	}
	_, h := c.Size()
	for _, at := range all {
		name := panelNames[at.slot]
		if row < h-1 {
			c.Text(at.x+max(at.w-chart.Width(name), 0)/2, row, chart.Cut(name, at.w), theme.Faint)
		} else if x := at.x + at.w - chart.Width(name); at.slot != reconstructionPanel && x > edge+1 {
			c.Text(x, row, name, theme.Faint)
		}
	}
}

// placed is a panel with its columns.
type placed struct{ slot, x, w int }

func has(all []placed, slot int) bool {
	for _, at := range all {
		if at.slot == slot {
			return true
		}
	}
	return false
}

// place returns the panels of the view and their columns in w by h cells, none for views that
// need an unknown truth.
func (p *picture) place(s *profiles.Snapshot, w, h int, way drawing) []placed {
	comparable := s.Picture(p.of.truth) != nil && s.Picture(p.of.truth).Width == p.shown.Width &&
		s.Picture(p.of.truth).Height == p.shown.Height
	var slots []int
	switch p.view {
	case reconstructionView:
		slots = []int{reconstructionPanel}
	case truthView:
		if s.Picture(p.of.truth) != nil {
			slots = []int{truthPanel}
		}
	case differenceView:
		if comparable {
			slots = []int{differencePanel}
		}
	case residualView:
		if comparable {
			slots = []int{residualPanel}
		}
	default:
		slots = []int{reconstructionPanel}
		whole := p.window(p.shown.Width, p.shown.Height, w, h, way, scales[p.scaled]).columns
		each := func(n int) int { return (w - n + 1) / n }
		pair, trio := max(whole*2/3, smallestPair), max(whole*3/4, smallestTrio)
		if scales[p.scaled] > 0 { // a part of two will do
			pair, trio = min(whole, smallestPart), whole
		}
		if s.Picture(p.of.truth) != nil && each(2) >= pair {
			slots = append(slots, truthPanel)
		}
		if comparable && each(3) >= trio {
			slots = append(slots, differencePanel)
		}
	}
	n := len(slots)
	if n == 0 {
		return nil
	}
	iw, ih := p.sizeOf(slots[0])
	pw := p.window(iw, ih, (w-n+1)/n, h, way, p.scaleOf(slots[0])).columns
	spare := w - n*pw - (n - 1) // besides a column between two
	all := make([]placed, n)
	for i, slot := range slots {
		all[i] = placed{slot, spare*(i+1)/(n+1) + i*(pw+1), pw}
	}
	return all
}

// sizeOf returns the size of a panel's picture in pixels.
func (p *picture) sizeOf(slot int) (w, h int) {
	switch slot {
	case truthPanel:
		truth := p.Snap.Picture(p.of.truth)
		return truth.Width, truth.Height
	case residualPanel:
		n := residualSide(p.shown)
		return n, n
	}
	return p.shown.Width, p.shown.Height
}

// scaleOf returns the magnification of a panel; a spectrum is always shown whole.
func (p *picture) scaleOf(slot int) int {
	if slot == residualPanel {
		return 0
	}
	return scales[p.scaled]
}

// heading returns the name of the view unless it is the default.
func (p *picture) heading(all []placed) string {
	if len(all) == 1 && all[0].slot != reconstructionPanel {
		return panelNames[all[0].slot]
	}
	return ""
}

// legend describes the ends of the scale, after a text about the size.
func (p *picture) legend(all []placed, way drawing, size string) string {
	if len(all) == 0 || way == noDrawing {
		return ""
	}
	var parts, brief []string
	bright := "white"
	if p.colors == theme.Viridis && p.coloured(way) {
		bright = "violet 0, yellow"
	}
	if has(all, reconstructionPanel) || has(all, truthPanel) {
		parts = append(parts, p.of.ends(p, bright))
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
	if has(all, residualPanel) {
		parts = append(parts, fmt.Sprintf("black −%d dB of the truth's mean, %s −%d dB, dashes: border of the "+
			"measured part", -darkestResidual, bright, -brightestResidual))
		brief = append(brief, fmt.Sprintf("−%d to −%d dB", -darkestResidual, -brightestResidual))
	}
	if size != "" {
		return words.FittingParts(p.EdgeRoom()-2, append([]string{size}, parts...), append([]string{size}, brief...),
			[]string{size})
	}
	if p.of.countsErrors && p.scale.comparable {
		most := append(slices.Clone(parts), p.scale.share())
		return words.FittingParts(p.EdgeRoom()-2, most, append(slices.Clone(brief), p.scale.share()), parts, brief)
	}
	return words.FittingParts(p.EdgeRoom()-2, parts, brief)
}

func amplitude(v float32) string { return unit.Fixed(float64(v), 5) }

// quality writes the latest metrics into the last row and returns the column after them.
func (p *picture) quality(c *chart.Canvas, s *profiles.Snapshot) int {
	if x, ok := p.caveat(c, s); ok {
		return x
	}
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
		if s.Run.Schema.SeriesNamed(words.SSIMSeries) >= 0 {
			c.TextRight(w, h-1, "SSIM"+unit.SSIM(s.Of(words.SSIMSeries).Latest), theme.Plain)
		}
		return w
	}
	put("PSNR", unit.PSNR(s.Of(words.PSNRSeries).Latest))
	if s.Run.Schema.SeriesNamed(words.SSIMSeries) >= 0 {
		put("SSIM", unit.SSIM(s.Of(words.SSIMSeries).Latest))
	}
	put("RMSE ", unit.Fixed(s.Of(rmseSeries).Latest, 5)+" %")
	return x - 2
}

// amplitudes holds the ends of the scales.
type amplitudes struct {
	white      float32 // the amplitude drawn white
	difference float32 // the difference drawn in full colour
	signed     []float32
	of         *profiles.Picture // the picture whose maximum is white
	between    [2]*profiles.Picture

	comparable bool // there is a truth of the same size
	off, total int  // pixels that differ by more than farOff of white, and all
}

// farOff is the difference from which pixels are counted, as a share of white.
const farOff = 0.1

// share says how many pixels differ much, counted on the picture in full.
func (a *amplitudes) share() string {
	return strings.TrimSpace(unit.HitRate(float64(a.off)/float64(max(a.total, 1)))) + " of pixels differ by > " +
		strconv.FormatFloat(farOff*float64(a.white), 'g', 2, 32)
}

// measure determines the scales. White, unless it is given, is the maximum of the truth, which is constant, or of the
// picture if there is no truth. The end of the difference's scale is a round number; it changes
// only if it becomes too small or if a smaller one would suffice with a quarter to spare.
func (a *amplitudes) measure(shown, truth *profiles.Picture, white float32) {
	of := truth
	if of == nil {
		of = shown
	}
	if of != a.of {
		a.of, a.white = of, white
		for _, v := range of.Pixels {
			if white == 0 && v > a.white && v < 1e30 {
				a.white = v
			}
		}
	}
	a.comparable = truth != nil && len(truth.Pixels) == len(shown.Pixels)
	if !a.comparable || a.between == [2]*profiles.Picture{shown, truth} {
		return
	}
	a.off, a.total = 0, len(shown.Pixels)
	a.between = [2]*profiles.Picture{shown, truth}
	if len(a.signed) != len(shown.Pixels) {
		a.signed = make([]float32, len(shown.Pixels))
	}
	largest := 0.0
	for i, v := range shown.Pixels {
		d := v - truth.Pixels[i]
		a.signed[i] = d
		m := math.Abs(float64(d))
		if m > largest && m < 1e30 {
			largest = m
		}
		if !(m <= farOff*float64(a.white)) { // NaN differs, too
			a.off++
		}
	}
	if round := float32(roundUp(largest)); round > a.difference || float32(roundUp(largest*1.25)) < a.difference {
		a.difference = round
	}
}

// roundUp rounds v up to 1, 2 or 5 times a power of ten.
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
