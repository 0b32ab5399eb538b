// Package transport draws where a replay is, in the place of a live run's header: its state, its time, and a track
// with the moments worth going to (changes, alerts, notes).
package transport

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// glyphs are the characters of the bar.
type glyphs struct {
	play, pause, seek, live rune
	track, head, end        rune
	marks                   map[profiles.MarkKind]rune
}

var (
	drawn = glyphs{'▶', '‖', '»', '●', '─', '┿', '·',
		map[profiles.MarkKind]rune{profiles.ChangeMark: '◆', profiles.AlertMark: '▴', profiles.NoteMark: '#'}}
	typed = glyphs{'>', '|', '~', '*', '-', '#', '.',
		map[profiles.MarkKind]rune{profiles.ChangeMark: '+', profiles.AlertMark: '!', profiles.NoteMark: '"'}}
)

// of returns the characters for a screen.
func of(ascii bool) glyphs {
	if ascii {
		return typed
	}
	return drawn
}

// leastTrack is the width of the narrowest track.
const leastTrack = 12

// Draw draws the bar on a row of a canvas.
func Draw(c *chart.Canvas, y int, p profiles.Position, ascii bool) {
	w, _ := c.Size()
	g := of(ascii)
	lamp, style := Lamp(p, ascii)
	x := c.Text(1, y, lamp, style)
	x = c.Text(x+2, y, unit.Clock(p.Recorded(p.At)), theme.Strong)
	x = c.Text(x, y, " of "+unit.Clock(p.Recorded(p.To)), theme.Faint)
	right := ""
	if p.Growing {
		right = "the run goes on"
		if p.Following {
			right = "as it happens"
		}
	}
	rightStyle := theme.Faint
	switch {
	case p.Err != "" && p.Ending != "":
		right, rightStyle = p.Ending+" · "+p.Err, theme.Bad
	case p.Err != "":
		right, rightStyle = p.Err, theme.Bad
	case p.Ending != "":
		right, rightStyle = p.Ending, theme.Warn
	}
	room := w - x - leastTrack - 6
	if room <= leastTrack && rightStyle != theme.Faint { // more important than the track
		room = w - x - 3
	}
	if right != "" && room > leastTrack {
		right = chart.Cut(right, room)
		w -= chart.Width(right) + 2
		c.Text(w+1, y, right, rightStyle)
	}
	if room := w - x - 3; room >= leastTrack {
		part := c.Sub(x+2, y, room, 1)
		track(&part, p, g)
	}
}

// track draws the recorded time.
func track(c *chart.Canvas, p profiles.Position, g glyphs) {
	w, _ := c.Size()
	place := func(at time.Duration) int {
		return int(math.Round(p.Share(at) * float64(w-1)))
	}
	now := place(p.At)
	for x := range w {
		r, style := g.end, theme.Faint
		if x < now {
			r, style = g.track, theme.Good
		}
		c.Set(x, 0, r, style)
	}
	for _, m := range p.Marks {
		style := theme.Mark
		if m.Kind == profiles.AlertMark {
			style = theme.Warn
		}
		c.Set(place(m.At), 0, g.marks[m.Kind], style)
	}
	c.Set(now, 0, g.head, theme.Strong)
}

// Lamp returns the state of a replay, at most 11 cells wide: "▶ replay 4×".
func Lamp(p profiles.Position, ascii bool) (string, theme.Style) {
	g := of(ascii)
	lamp, style := g.pause, theme.Warn
	switch {
	case p.Seeking:
		lamp, style = g.seek, theme.Pending
	case p.Following:
		return fmt.Sprintf("%c following", g.live), theme.Good
	case p.Playing:
		lamp, style = g.play, theme.Good
	}
	text := fmt.Sprintf("%c replay", lamp)
	if p.Speed != 1 && p.Speed != 0 {
		text = fmt.Sprintf("%c %s", lamp, Speed(p.Speed, ascii))
	}
	return fmt.Sprintf("%-11s", text), style
}

// Speed formats the speed of a replay: "4×", "1/8×".
func Speed(v float64, ascii bool) string {
	times := "×"
	if ascii {
		times = "x"
	}
	if v < 1 {
		return "1/" + strconv.Itoa(int(math.Round(1/v))) + times
	}
	return strconv.Itoa(int(v)) + times
}
