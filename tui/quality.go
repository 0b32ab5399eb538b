package tui

import (
	"strings"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// quality is the peak signal-to-noise ratio over the run, with the newest
// measurement of every metric.
type quality struct {
	box
	ceiling float64
}

func newQuality() *quality { return &quality{box: box{title: "Quality"}} }

func (p *quality) View() string    { return join(p.lines()) }
func (p *quality) lines() []string { return p.render(p.draw) }

func (p *quality) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	if !s.HasQuality {
		message(c, "not measured yet")
		return "", theme.Faint
	}
	p.aside("PSNR "+strings.TrimSpace(psnr(s.Quality.PSNR))+"  SSIM "+strings.TrimSpace(ssim(s.Quality.SSIM))+
		"  RMSE "+strings.TrimSpace(fixed(s.Quality.RMSE, 5))+" %", theme.Faint)
	p.ceiling = chart.Ceiling(s.PSNR, p.ceiling)
	line := chart.Line{
		Series:  []chart.Series{{Curve: s.PSNR, Style: theme.Line}},
		Ceiling: p.ceiling, Marks: marks(s.Changes), Label: axisLabel, LabelWidth: 5,
	}
	if !line.Draw(c) {
		message(c, "no comparison yet")
	}
	return "PSNR, dB", theme.Faint
}
