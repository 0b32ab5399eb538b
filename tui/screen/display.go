package screen

import (
	"fmt"
	"math"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles/unit"
	"prismtop/tui/pane"
	"prismtop/tui/program"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
)

// display is the terminal as the screen uses it: its colours, the pictures that it draws,
// and the bandwidth that it may take.
type display struct {
	*answers
	tiles   *tiling
	keep    *remembered
	console *terminal.Console // nil if drawn without a terminal
	out     *terminal.Output  // nil if drawn without a terminal
	plain   bool              // no colours, so none of the terminal's answers adds them
	ascii   bool

	graphics *terminal.Graphics // the terminal's support for pictures
	theme    *theme.Theme
	ground   terminal.Ground
	colours  terminal.Colours
	pace     terminal.Pacer
	pictured terminal.Bandwidth // the bandwidth of the picture budget
	stale    bool               // the frame is older than the state

	questioned time.Time // when the terminal was queried
	skipped    int64     // frames, up to skippedAt, because the terminal was busy or the budget was spent
	skippedAt  time.Time
}

// ask queries the terminal's background and support for synchronized output, which Bubble Tea does not query over SSH.
func (d *display) ask() tea.Cmd {
	d.questioned = time.Now()
	class := tea.Raw(ansi.RequestPrimaryDeviceAttributes) // the last query, whose answer ends the wait
	if !d.ascii && !d.plain {
		class = d.graphics.Ask()
	} else {
		d.graphics.Refuse("the terminal was not asked: --ascii, or no colours")
	}
	return tea.Sequence(tea.Raw(ansi.RequestModeSynchronizedOutput), tea.RequestBackgroundColor, class)
}

// answersDue reports whether the terminal may still answer.
func (d *display) answersDue(now time.Time) bool {
	return d.out != nil && !d.out.Failed() && program.AnswersExpected(d.questioned, now) && d.graphics.AnswerDue()
}

// retheme draws the panes in the present colours.
func (d *display) retheme() {
	g := d.ground.As(d.colours)
	d.theme = theme.New(g.Profile, g.Dark, d.ascii)
	d.tiles.repaint(d.theme)
}

// mayDraw reports whether a frame may be drawn now. None is drawn while the terminal is behind.
// Frames for data also wait for the budget; those for user input do not.
func (d *display) mayDraw(data bool) bool {
	if d.out == nil {
		return true
	}
	now := d.now()
	switch {
	case d.out.Busy():
		d.pace.Behind(now)
	case !data || d.pace.Allows(now, d.out.Written()):
		return true
	default: // required by the budget
		return false
	}
	d.skipped++
	d.skippedAt = now
	return false
}

// hear handles a possible answer of the terminal.
func (d *display) hear(msg tea.Msg) tea.Cmd {
	cmd, changed := d.graphics.Hear(msg, d.tiles.layout.W, d.tiles.layout.H)
	if changed {
		d.stale = true
		d.redrawPictured()
		if d.out != nil {
			d.out.TrustPlaces(d.graphics.Draws())
		}
	}
	return cmd
}

// redrawPictured redraws the panes with pictures.
func (d *display) redrawPictured() {
	for _, p := range d.tiles.panes {
		if _, ok := p.(pane.Pictured); ok {
			p.Redraw()
		}
	}
}

// redrawPictures sends all pictures again after the terminal has lost them.
func (d *display) redrawPictures() {
	d.graphics.Forget()
	d.redrawPictured()
	d.stale = true
}

// sendPictures adds the pictures to be sent to cmd, and sets the sequences that delete them at
// the end.
func (d *display) sendPictures(cmd tea.Cmd) tea.Cmd {
	send := d.graphics.Send()
	if send == nil {
		return cmd
	}
	if d.out != nil {
		d.out.SetFarewell(d.graphics.Farewell())
	}
	return tea.Batch(cmd, send)
}

// deepen handles the terminal's answer that it supports 24-bit colours.
func (d *display) deepen(capability string) {
	if terminal.MeansTrueColour(capability) && d.ground.Profile != colorprofile.TrueColor && !d.plain {
		d.ground.Profile = colorprofile.TrueColor
		d.retheme()
	}
}

// cycleColours selects the next colours.
func (d *display) cycleColours() {
	d.colours = d.colours.Next()
	d.keep.Theme = d.colours.String()
	d.retheme()
	text := "colours " + d.colours.String()
	if d.colours == terminal.AutoColours {
		text += ": by the terminal's answers"
	}
	d.say(text)
}

// budgetPictures sets the current bandwidth limit of the panes with pictures.
func (d *display) budgetPictures() {
	if in := d.pace.InForce(d.now()); in != d.pictured {
		d.budgetPicturesFor(in)
	}
}

func (d *display) budgetPicturesFor(b terminal.Bandwidth) {
	d.pictured = b
	for _, p := range d.tiles.panes {
		if p, ok := p.(pane.Pictured); ok {
			p.SetBudget(int(b.Budget().Pictures), b == terminal.LowBandwidth)
		}
	}
	d.stale = true
}

// cycleBandwidth selects the next bandwidth.
func (d *display) cycleBandwidth() {
	chosen := d.pace.Chosen().Next()
	d.pace.Choose(chosen)
	d.keep.Bandwidth = chosen.String()
	d.budgetPictures()
	b := chosen.Budget()
	limit := "no limit"
	if b.Limit > 0 {
		limit = fmt.Sprintf("at most %.3g KB/s", b.Limit/1000)
	}
	frames := int(math.Round(1 / b.Period.Seconds()))
	d.say(fmt.Sprintf("bandwidth %s: %s/s, %s", chosen, unit.Plural(frames, "frame", "frames"), limit))
}
