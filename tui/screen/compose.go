package screen

import (
	"fmt"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
)

// The frame: its parts put together, its header and footer, the room of overlays, and a terminal that is too small.

// compose draws the frame: the header, the panes, which redraw only what changed, the footer and what lies over them.
func (m *Model) compose() {
	l, f := &m.layout, &m.frame
	f.Resize(l.W, l.H)
	if l.TooSmall || l.W == 0 || l.H == 0 {
		m.tooSmall()
		return
	}
	part := func(r layout.Rect) *chart.Canvas { c := f.Sub(r.X, r.Y, r.W, r.H); return &c }
	m.header().draw(part(l.Header))
	m.tiling.draw(f)
	m.footer().draw(part(l.Footer))
	if m.help.page != noHelp {
		widget.Overlay(f, m.help.box(m.room()))
	}
	for _, o := range m.overlays.open {
		widget.Overlay(f, o.box(m.room()))
	}
}

// room returns the screen that an overlay may fill.
func (m *Model) room() room { return room{m.layout.W, m.layout.H} }

// header returns the header of the next frame.
func (m *Model) header() *header {
	h := &header{
		snap: m.snap, width: m.layout.Header.W, ascii: m.options.ASCII, watches: !m.seat.operates(),
		alertsKey: m.keys.Of("alerts"), position: m.playback.position(), paused: m.pause.paused(),
		troubles: troubles(m.snap, m.keys),
	}
	if m.snap != nil {
		h.state, h.threads = m.pause.state(), m.threadsOf(m.snap)
	}
	return h
}

// footer returns the footer of the next frame.
func (m *Model) footer() *footer {
	field, _ := opened[*typing](&m.overlays)
	return &footer{
		answers: &m.answers, run: &m.asking, keys: m.keys, tiles: &m.tiling, cost: &m.cost,
		typing: field, position: m.playback.position(), paused: m.pause.paused(), deciding: m.experiments.deciding(),
		ascii: m.options.ASCII,
	}
}

// tooSmall draws the screen shown if the panes do not fit, with the question whether to quit if that is asked.
func (m *Model) tooSmall() {
	y := max(0, m.layout.H/2-1)
	lines := []string{
		fmt.Sprintf("terminal too small: %dx%d needed", layout.MinWidth, layout.MinHeight),
		fmt.Sprintf("this is %dx%d", m.layout.W, m.layout.H),
		m.keys.Say(quitsHere),
	}
	if _, asked := opened[quitting](&m.overlays); asked {
		lines = []string{m.keys.Say(quitQuestion)}
		if m.keys.can(profiles.LeaveCommand) {
			lines = append(lines, m.keys.Say(leavesGoing))
		}
	}
	for i, s := range lines {
		s = chart.Cut(s, m.layout.W)
		m.frame.Text((m.layout.W-chart.Width(s))/2, y+i, s, theme.Plain)
	}
}
