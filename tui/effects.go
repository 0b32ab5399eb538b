package tui

import (
	"fmt"
	"math"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// effects shows what every change of settings did, newest first.
type effects struct {
	box
	picker
	cores int
}

func newEffects(cores int) *effects { return &effects{box: box{title: "Effects"}, cores: cores} }

func (p *effects) View() string    { return join(p.lines()) }
func (p *effects) lines() []string { return p.render(p.draw) }

// Press picks an effect.
func (p *effects) Press(key string) bool {
	if !p.picker.press(key) {
		return false
	}
	p.stale = true
	return true
}

// Hints are the keys that pick.
func (p *effects) Hints() []hint { return []hint{{"↑↓", "pick"}} }

// Explain says how an effect is measured.
func (p *effects) Explain() []string {
	return []string{
		"An effect compares the median time of an iteration before and after a change of a setting. Both windows hold the up to 200 iterations " +
			"nearest to the change that do the same work: same stage, the first sample apart, 5 iterations of warm-up and the last iteration of a " +
			"sample left out; only those of the sample in which the change was made, where there are 20. 20 on each side are needed; “needs n more” counts down. Where fewer ran before it, waiting does not help: change the " +
			"setting back, let it run, and change it again. A later change or stage closes the window after; the effect then stays as it is.",
		"The interval in brackets is chance alone: both windows are drawn anew 500 times in blocks of neighbours (circular block bootstrap), " +
			"and the middle 95 % of the shifts are kept. Below 0 the change made iterations faster, above 0 slower; if 0 is inside, no difference " +
			"was seen. It holds the true shift in 95 cases of 100 if the machine was the same before and after.",
		fmt.Sprintf("Other programs make it another machine. Twice a second the system is asked what share of all processors they took. Half seconds with "+
			"more than %.0f %% are left out where 20 undisturbed iterations are left among the 800 nearest to the change; else all count, and the note says "+
			"“others took 62 %% of the processors”. It also does where they took 2 %% more on one side and that is over a quarter of the shift. Then press A: "+
			"an ablation switches in balanced blocks, so that others slow both values alike. Heat is not seen, nor what a host does not tell of its other guests.",
			100*machine.Quiet),
		"A shift in yellow and with ? is confounded: something else differs between the windows, as the note says, and the number may be that.",
		"PSNR … meanwhile is the comparison with the truth at the end of the window after less the last one before the change. Training goes on, so " +
			"it rises whatever the setting does; what a setting does to training is the ablation's column dB/100.",
	}
}

// draw draws the table where there is room for its columns, else two rows for each
// effect.
func (p *effects) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	if len(s.Effects) == 0 {
		p.empty(c, s.State)
		return "", theme.Faint
	}
	if w >= effectTableWidth && h >= 8 {
		return p.table(c, s)
	}
	p.aside("iteration time, 95 % interval", theme.Faint)
	each := 2
	if h < 4 {
		each = 1
	}
	first, last := p.fit(len(s.Effects), max(1, h/each))
	for i := first; i < last; i++ {
		e := &s.Effects[len(s.Effects)-1-i]
		y := (i - first) * each
		x := 0
		if p.focus {
			x = p.pointer(c, y, i)
		}
		row := c.Sub(x, y, w-x, each)
		p.headline(&row, 0, w-x, e)
		if each == 2 {
			text, style := detail(e, w-2)
			row.Text(2-x, 1, chart.Cut(text, w-2), style)
		}
	}
	return p.note("later", "earlier"), theme.Faint
}

// pointer marks the picked row and returns the column after the mark.
func (p *effects) pointer(c *chart.Canvas, y, i int) int {
	if i == p.at {
		c.Set(0, y, '▸', theme.Focus)
	}
	return 2
}

func (p *effects) empty(c *chart.Canvas, state profiles.State) {
	_, h := c.Size()
	text := "Change a setting (m f g a p l L + −) and read here what it did to speed and quality."
	if ended(state) {
		text = "No setting was changed in this run. R starts the next."
	}
	writeWrapped(c, 0, max(0, (h-3)/2), 3, text, theme.Faint)
}

// headline is what changed, and by how much the iteration became longer or
// shorter.
func (p *effects) headline(c *chart.Canvas, y, w int, e *profiles.Effect) {
	what := p.what(e)
	var number, interval string
	style := theme.Faint
	switch {
	case !e.Enough:
		number = lacking(e)
	default:
		number = shift(e)
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

// shift is what happened to the time of an iteration; a confounded one has a mark that
// needs no colour.
func shift(e *profiles.Effect) string {
	if e.Confounded != "" {
		return signedPercent(e.Shift) + " ?"
	}
	return signedPercent(e.Shift)
}

// what is the change of an effect: "AMP off→bf16".
func (p *effects) what(e *profiles.Effect) string {
	return fmt.Sprintf("%s %s→%s", settingName(e.Key), settingText(e.Key, e.Before, p.cores), settingText(e.Key, e.After, p.cores))
}

// lacking is what an effect needs before it says something.
func lacking(e *profiles.Effect) string {
	switch {
	case e.Needed <= 0:
		return "too few before"
	case e.Closed:
		return "too few after"
	}
	return fmt.Sprintf("needs %d more", e.Needed)
}

// verdict is good where the whole interval says faster, bad where it says
// slower.
func verdict(e *profiles.Effect) theme.Style {
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

// again is what helps where too few iterations ran before a change.
const again = "change back and again"

// detail is the numbers behind an effect, the most important ones where w cells
// do not hold all.
func detail(e *profiles.Effect, w int) (string, theme.Style) {
	counts := fmt.Sprintf("iterations: %d before, %d after", e.NBefore, e.NAfter)
	switch {
	case e.Enough:
	case e.Needed <= 0:
		return fittingParts(w, []string{counts, again}, []string{fmt.Sprintf("%d before", e.NBefore), again}, []string{again}), theme.Faint
	default:
		return counts, theme.Faint
	}
	times := fmt.Sprintf("%s → %s ms", trim(milliseconds(e.BeforeNS)), trim(milliseconds(e.AfterNS)))
	quality := "PSNR " + signed(e.QualityDrift, 2) + " dB meanwhile"
	switch {
	case !e.HasQuality:
		quality = "PSNR not measured"
	case math.Abs(e.QualityDrift) < 0.005:
		quality = "PSNR unchanged"
	}
	n := fmt.Sprintf("n %d", e.NAfter)
	if e.Confounded == "" {
		return fittingParts(w, []string{times, quality, n}, []string{times, quality}, []string{times}), theme.Faint
	}
	return fittingParts(w, []string{times, quality, n, e.Confounded}, []string{times, quality, e.Confounded},
		[]string{times, e.Confounded}, []string{e.Confounded}), theme.Warn
}
