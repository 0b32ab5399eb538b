package tui

import (
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// effects shows what every change of settings did, newest first.
type effects struct {
	box
	cores int
}

func newEffects(cores int) *effects { return &effects{box{title: "Effects"}, cores} }

func (p *effects) View() string    { return join(p.lines()) }
func (p *effects) lines() []string { return p.render(p.draw) }

func (p *effects) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	if len(s.Effects) == 0 {
		p.empty(c)
		return "", theme.Faint
	}
	p.aside("iteration time, 95 % interval", theme.Faint)
	each := 2
	if h < 4 {
		each = 1
	}
	shown := min(len(s.Effects), max(1, h/each))
	for i := range shown {
		e := s.Effects[len(s.Effects)-1-i]
		p.headline(c, i*each, w, e)
		if each == 2 {
			text, style := detail(e, w-2)
			c.Text(2, i*each+1, chart.Cut(text, w-2), style)
		}
	}
	if more := len(s.Effects) - shown; more > 0 {
		return fmt.Sprintf("%d earlier", more), theme.Faint
	}
	return "", theme.Faint
}

func (p *effects) empty(c *chart.Canvas) {
	_, h := c.Size()
	wrapped(c, 0, max(0, (h-3)/2), 3,
		"Change a setting (m f g a p l L + −) and read here what it did to speed and quality.", theme.Faint)
}

// headline is what changed, and by how much the iteration became longer or
// shorter.
func (p *effects) headline(c *chart.Canvas, y, w int, e profiles.Effect) {
	what := fmt.Sprintf("%s %s→%s", settingName(e.Key), settingText(e.Key, e.Before, p.cores), settingText(e.Key, e.After, p.cores))
	var number, interval string
	style := theme.Faint
	switch {
	case !e.Enough && (e.Closed || e.Needed <= 0):
		number = "too few"
	case !e.Enough:
		number = fmt.Sprintf("needs %d more", e.Needed)
	default:
		number = signedPercent(e.Shift)
		interval = fmt.Sprintf(" [%s,%s]", signed(100*e.Low, 0), signed(100*e.High, 0))
		style = verdict(e)
	}
	x := w
	if interval != "" {
		x = c.TextRight(x, y, interval, theme.Faint)
	}
	x = c.TextRight(x, y, number, style)
	c.Text(0, y, chart.Cut(what, x-1), theme.Plain)
}

// verdict is good where the whole interval says faster, bad where it says
// slower.
func verdict(e profiles.Effect) theme.Style {
	switch {
	case e.Confounded != "":
		return theme.Warn
	case e.High < 0:
		return theme.Good
	case e.Low > 0:
		return theme.Bad
	}
	return theme.Strong
}

// detail is the numbers behind an effect, the most important ones where w cells
// do not hold all.
func detail(e profiles.Effect, w int) (string, theme.Style) {
	if !e.Enough {
		return fmt.Sprintf("iterations: %d before, %d after", e.NBefore, e.NAfter), theme.Faint
	}
	times := fmt.Sprintf("%s → %s ms", trim(milliseconds(e.BeforeNS)), trim(milliseconds(e.AfterNS)))
	quality := "PSNR " + signed(e.QualityDrift, 2) + " dB"
	switch {
	case !e.HasQuality:
		quality = "PSNR not measured"
	case math.Abs(e.QualityDrift) < 0.005:
		quality = "PSNR unchanged"
	}
	n := fmt.Sprintf("n %d", e.NAfter)
	if e.Confounded == "" {
		return longest(w, []string{times, quality, n}, []string{times, quality}, []string{times}), theme.Faint
	}
	return longest(w, []string{times, quality, n, e.Confounded}, []string{times, quality, e.Confounded},
		[]string{quality, e.Confounded}, []string{e.Confounded}), theme.Warn
}

// longest is the first of the choices that fits into w cells, or the last.
func longest(w int, choices ...[]string) string {
	text := ""
	for _, parts := range choices {
		if text = strings.Join(parts, " · "); chart.Width(text) <= w {
			break
		}
	}
	return text
}
