package screen

import (
	"math"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/tui/keys"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/terminal"
	"prismtop/tui/widget"
)

// Keys and the mouse: what each action does, the way of a key to what takes it, and the
// opening of what lies over the panes.

// deeds are what the actions of tui/keys do on this screen, but for those of settings. One that is not here asks the
// source for its command.
var deeds = map[profiles.Action]func(*Model) tea.Cmd{
	"pause":        does(func(m *Model) { m.pause.toggle() }),
	"step":         does(func(m *Model) { m.pause.step() }),
	"save":         announces(savingPicture, profiles.SaveCommand),
	"checkpoint":   announces(writingCheckpoint, profiles.CheckpointCommand),
	"clear caches": does((*Model).clearCaches),
	"export":       does((*Model).openExports),
	"note":         does((*Model).openNote),
	"detach":       func(m *Model) tea.Cmd { return m.detach() },
	"control":      does(func(m *Model) { m.seat.operate() }),
	"restart":      does((*Model).restart),

	"play":              does(func(m *Model) { m.playback.play(profiles.PlayCommand, 0) }),
	"backward":          does(func(m *Model) { m.playback.skip(-skipped) }),
	"forward":           does(func(m *Model) { m.playback.skip(skipped) }),
	"slower":            does(func(m *Model) { m.playback.faster(-1) }),
	"faster":            does(func(m *Model) { m.playback.faster(1) }),
	"next snapshot":     does(func(m *Model) { m.playback.play(profiles.SkipCommand, 1) }),
	"previous snapshot": does(func(m *Model) { m.playback.play(profiles.SkipCommand, -1) }),
	"next change":       does(func(m *Model) { m.playback.jump(1, profiles.ChangeMark) }),
	"previous change":   does(func(m *Model) { m.playback.jump(-1, profiles.ChangeMark) }),
	"next alert":        does(func(m *Model) { m.playback.jump(1, profiles.AlertMark) }),
	"previous alert":    does(func(m *Model) { m.playback.jump(-1, profiles.AlertMark) }),
	"next note":         does(func(m *Model) { m.playback.jump(1, profiles.NoteMark) }),
	"previous note":     does(func(m *Model) { m.playback.jump(-1, profiles.NoteMark) }),
	"tenth":             does(func(m *Model) { m.playback.seekShare(float64(m.pressed[0]-'0') / 10) }),
	"beginning":         does(func(m *Model) { m.playback.seekShare(0) }),
	"end":               does(func(m *Model) { m.playback.seek(math.MaxInt64) }),

	"settings":           does(func(m *Model) { m.toggleSettings() }),
	"choose":             does(func(m *Model) { m.knobs.list(m.keys.picks) }),
	"ablate":             does(func(m *Model) { m.experiments.toggle() }),
	"compare everything": does(func(m *Model) { m.experiments.compareEverything() }),
	"replicate":          does(func(m *Model) { m.experiments.replicate() }),
	"fork":               does(func(m *Model) { m.experiments.fork() }),
	"undo":               does(func(m *Model) { m.tuning.undo() }),
	"bookmark":           does(func(m *Model) { m.bookmarks.storeNext() }),
	"apply bookmark":     does(func(m *Model) { m.bookmarks.digit(int(m.pressed[0] - '0')) }),
	"switch device":      does(func(m *Model) { m.knobs.otherDevice() }),

	"help":          does(func(m *Model) { m.help.next() }),
	"search":        does(func(m *Model) { m.help.search() }),
	"alerts":        does(func(m *Model) { m.help.toggleAlerts() }),
	"next pane":     does(func(m *Model) { m.cycleFocus(1) }),
	"previous pane": does(func(m *Model) { m.cycleFocus(-1) }),
	"zoom":          does(func(m *Model) { m.toggleZoom() }),
	"view":          does((*Model).needsFocus),
	"scale":         does((*Model).needsFocus),
	"draw":          does((*Model).needsFocus),
	"layout":        does(func(m *Model) { m.say("panes: " + m.rearrange()) }),
	"panes":         does(func(m *Model) { m.lay(newChooser(&m.tiling, &m.answers, m.keys)) }),
	"mouse":         does(func(m *Model) { m.mouse.toggle() }),
	"suspend":       func(m *Model) tea.Cmd { return m.suspension.suspend() },
	"colours":       does(func(m *Model) { m.cycleColours() }),
	"bandwidth":     does(func(m *Model) { m.cycleBandwidth() }),
	"close":         (*Model).closeOverlay,
	"redraw":        (*Model).redraw,
	"quit":          (*Model).askQuit,
	"interrupt":     func(m *Model) tea.Cmd { return m.interrupt() },
}

// does turns a method without a command into a handler.
func does(f func(*Model)) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd { f(m); return nil }
}

// announces turns a command that may take a while into a handler that says what is done.
func announces(text string, kind profiles.CommandKind) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd { return m.seat.announce(text, profiles.Command{Kind: kind}) }
}

// press runs the action of a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	if rest, escaped := terminal.WithoutEsc(msg); escaped {
		return tea.Batch(m.press(tea.KeyPressMsg{Code: tea.KeyEscape}), m.press(rest))
	}
	m.pressed = msg.String()
	if !isDigit(m.pressed) {
		m.bookmarks.storing = false
	}
	for _, action := range []profiles.Action{"interrupt", "suspend", "redraw"} { // whatever takes the other keys
		if m.keys.Is(action, m.pressed) {
			return deeds[action](m)
		}
	}
	over := m.top()
	// nothing would show what another key changes
	if _, asked := over.(quitting); m.layout.TooSmall && m.layout.W > 0 && !asked {
		if m.keys.Is("quit", m.pressed) {
			return m.askQuit()
		}
		return nil
	}
	if over != nil {
		cmd, came := m.overlays.press(m.pressed)
		if came == unheard {
			m.say(m.pressed + " has no meaning in this list: esc leaves it")
		}
		if came != passed {
			return cmd
		}
	}
	if m.help.find != nil {
		m.help.pressSearch(m.pressed)
		return nil
	}
	if m.help.page != noHelp {
		if m.pressed == "esc" { // before the pane beneath, which may handle esc itself
			return m.closeOverlay()
		}
		if m.help.Move(m.pressed) {
			return nil
		}
	}
	if m.focus != layout.None && m.panes[m.focus].Press(m.forPane(m.pressed)) {
		if t, ok := m.panes[m.focus].(pane.Teller); ok {
			if said := t.Tell(); said != "" {
				m.say(m.keys.Say(profiles.Advice(said)))
			}
		}
		return nil
	}
	if m.keys.can(profiles.PlayCommand) && !m.status.bad { // of another moment
		m.status = status{}
	}
	for _, section := range ownSections {
		for _, r := range m.keys.Rows(section) {
			if r.Has(m.pressed) {
				return m.run(&r)
			}
		}
	}
	if texts := m.keys.wouldChange(m.pressed, m.seat.operates(), m.snap != nil && m.snap.CatchingUp); texts != nil {
		m.sayOne(texts...)
		return nil
	}
	m.say(m.pressed + " has no meaning here: " + m.keys.Say(listsKeys))
	return nil
}

func (m *Model) redraw() tea.Cmd { m.redrawPictures(); return tea.ClearScreen }

// closeOverlay goes back one step: it closes the help, the zoom or the focus.
func (m *Model) closeOverlay() tea.Cmd {
	switch {
	case m.top() != nil:
		m.lift()
	case m.help.page != noHelp:
		m.help.close()
	case m.zoomed:
		m.toggleZoom()
	default:
		m.setFocus(layout.None)
	}
	return nil
}

// run carries out an action: by its function, or by the one command that it asks for.
func (m *Model) run(r *keys.Row) tea.Cmd {
	if r.Setting != nil {
		m.knobs.move(r.Setting, r.Move)
		return nil
	}
	if deed := deeds[r.Action]; deed != nil {
		return deed(m)
	}
	return m.seat.later(profiles.Command{Kind: r.Command})
}

// forPane returns a pressed key as the focused pane knows it. While a value is typed, keys are characters.
func (m *Model) forPane(pressed string) string {
	if m.editing() {
		return pressed
	}
	return m.keys.InPane(pressed)
}

// needsFocus answers a pane's key that no focused pane handles.
func (m *Model) needsFocus() {
	if m.focus == layout.None {
		m.say(m.keys.Say(focusFirst))
		return
	}
	m.say(m.paneName(m.focus) + " has nothing for " + m.pressed)
}

// clicked focuses the pane under the mouse; a click on its title or a double click zooms or
// unzooms it.
func (m *Model) clicked(e tea.Mouse) {
	if e.Button != tea.MouseLeft || m.top() != nil && !m.listing() {
		return
	}
	if m.help.page != noHelp || m.listing() {
		m.closeOverlay()
		return
	}
	if r := headerPlaces(m.layout.W)[alertsField]; !m.layout.TooSmall && r.Contains(e.X, e.Y) &&
		len(troubles(m.snap, m.keys)) > 0 {
		m.help.toggleAlerts()
		return
	}
	id := m.layout.At(e.X, e.Y)
	if id == layout.None {
		return
	}
	twice := m.mouse.clicked(id)
	m.setFocus(id)
	if twice || e.Y == m.layout.Panes[id].Y {
		m.mouse.last = click{}
		m.toggleZoom()
	}
}

// wheeled scrolls the open sheet, or the pane under the mouse.
func (m *Model) wheeled(e tea.Mouse) {
	step := "down"
	switch e.Button {
	case tea.MouseWheelUp:
		step = "up"
	case tea.MouseWheelDown:
	default:
		return
	}
	if m.help.page != noHelp {
		m.help.Move(step)
		return
	}
	if id := m.layout.At(e.X, e.Y); id != layout.None && m.top() == nil {
		m.panes[id].Press(step)
	}
}

// clearCaches empties the caches of a running run.
func (m *Model) clearCaches() {
	if m.snap == nil || m.over() {
		m.complain(clearNeedsRun)
	} else if m.seat.do(profiles.Command{Kind: profiles.ClearCommand}) {
		m.say(clearingCaches)
	}
}

// openExports opens the list of formats.
func (m *Model) openExports() {
	m.lay(&exporting{answers: &m.answers, exporter: m.exporter, keys: m.keys, formats: m.exporter.Formats()})
}

// openNote opens the line in which a note is written.
func (m *Model) openNote() {
	if m.snap == nil {
		m.complain(errNotBegun.Error())
		return
	}
	m.lay(noting{widget.NewInput(""), &m.seat, &m.asking})
}

// restart restarts the run, or asks first if anything would be lost.
func (m *Model) restart() {
	if m.restarting.mayAsk() {
		m.lay(&m.restarting)
	}
}

// askQuit asks whether to quit, or quits if nothing would end.
func (m *Model) askQuit() tea.Cmd {
	if m.snap == nil || m.over() || !m.keys.can(profiles.StopCommand) {
		return m.quit()
	}
	m.lay(quitting{&m.departure, &m.pause})
	return nil
}
