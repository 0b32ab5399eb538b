package screen

import (
	"math"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/control"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// move applies a key's move to a setting.
func (m *Model) move(k *settings.Key, how settings.Move) {
	switch {
	case how == settings.MoveWrite:
		m.editSetting(k.Name)
	case k.Name == settings.Device:
		m.otherDevice()
	case how == settings.MoveToggle && len(k.Allowed) > 1:
		m.toggle(k)
	case k.Name == m.table.Roles().Rate:
		m.scaleRate(k.Name, map[settings.Move]float64{settings.MoveNext: 2, settings.MoveBefore: 0.5}[how])
	default:
		m.nudge(k.Name, how != settings.MoveBefore)
	}
}

// deeds are what the actions of tui/keys do on this screen, but for those of settings. One that is not here asks the
// source for its command.
var deeds = map[profiles.Action]func(*Model) tea.Cmd{
	"pause":        (*Model).togglePause,
	"step":         (*Model).step,
	"save":         (*Model).save,
	"checkpoint":   (*Model).checkpoint,
	"clear caches": (*Model).clearCaches,
	"export":       does((*Model).openExports),
	"note":         does((*Model).openNote),
	"detach":       (*Model).detach,
	"control":      does((*Model).operate),
	"restart":      (*Model).restart,

	"play":              does(func(m *Model) { m.play(profiles.PlayCommand, 0) }),
	"backward":          does(func(m *Model) { m.skip(-skipped) }),
	"forward":           does(func(m *Model) { m.skip(skipped) }),
	"slower":            does(func(m *Model) { m.faster(-1) }),
	"faster":            does(func(m *Model) { m.faster(1) }),
	"next snapshot":     does(func(m *Model) { m.play(profiles.SkipCommand, 1) }),
	"previous snapshot": does(func(m *Model) { m.play(profiles.SkipCommand, -1) }),
	"next change":       does(func(m *Model) { m.jump(1, profiles.ChangeMark) }),
	"previous change":   does(func(m *Model) { m.jump(-1, profiles.ChangeMark) }),
	"next alert":        does(func(m *Model) { m.jump(1, profiles.AlertMark) }),
	"previous alert":    does(func(m *Model) { m.jump(-1, profiles.AlertMark) }),
	"next note":         does(func(m *Model) { m.jump(1, profiles.NoteMark) }),
	"previous note":     does(func(m *Model) { m.jump(-1, profiles.NoteMark) }),
	"tenth":             does(func(m *Model) { m.seekShare(float64(m.pressed[0]-'0') / 10) }),
	"beginning":         does(func(m *Model) { m.seekShare(0) }),
	"end":               does(func(m *Model) { m.seek(math.MaxInt64) }),

	"settings":           does((*Model).toggleSettings),
	"choose":             does((*Model).openPicks),
	"ablate":             does((*Model).toggleAblation),
	"compare everything": does((*Model).compareEverything),
	"replicate":          does((*Model).replicate),
	"fork":               does((*Model).forkQuality),
	"undo":               does((*Model).undo),
	"bookmark":           does((*Model).storeNext),
	"apply bookmark":     does(func(m *Model) { m.digit(int(m.pressed[0] - '0')) }),
	"switch device":      does((*Model).otherDevice),

	"help":          (*Model).toggleHelp,
	"search":        does((*Model).search),
	"alerts":        does((*Model).toggleAlerts),
	"next pane":     does(func(m *Model) { m.cycleFocus(1) }),
	"previous pane": does(func(m *Model) { m.cycleFocus(-1) }),
	"zoom":          does((*Model).toggleZoom),
	"view":          does((*Model).needsFocus),
	"scale":         does((*Model).needsFocus),
	"draw":          does((*Model).needsFocus),
	"layout":        does((*Model).nextArrangement),
	"panes":         does((*Model).openChooser),
	"mouse":         does((*Model).toggleMouse),
	"suspend":       (*Model).suspend,
	"colours":       does((*Model).cycleColours),
	"bandwidth":     does((*Model).cycleBandwidth),
	"close":         (*Model).closeOverlay,
	"redraw":        (*Model).redraw,
	"quit":          (*Model).askQuit,
	"interrupt":     (*Model).interrupt,
}

// does turns a method without a command into a handler.
func does(f func(*Model)) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd { f(m); return nil }
}

// press runs the action of a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	if rest, escaped := terminal.WithoutEsc(msg); escaped {
		return tea.Batch(m.press(tea.KeyPressMsg{Code: tea.KeyEscape}), m.press(rest))
	}
	m.pressed = msg.String()
	if m.storing && !isDigit(m.pressed) {
		m.storing = false
	}
	over := m.top()
	if _, asked := over.(quitting); m.layout.TooSmall && m.layout.W > 0 && !asked {
		return m.pressTooSmall(m.pressed)
	}
	if over != nil {
		switch m.pressed {
		case "ctrl+c":
			return m.interrupt()
		case "ctrl+l":
			return m.redraw()
		}
		if cmd, left := over.press(m, m.pressed); !left {
			return cmd
		}
	}
	if m.sheet.find != nil {
		m.pressSearch(m.pressed)
		return nil
	}
	if m.sheet.page != noHelp {
		if m.pressed == "esc" { // before the pane beneath, which may handle esc itself
			return m.closeOverlay()
		}
		if m.sheet.Move(msg.String()) {
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
	if m.can(profiles.PlayCommand) && !m.status.bad { // of another moment
		m.status = status{}
	}
	for _, section := range ownSections {
		for _, r := range m.keys.Rows(section) {
			if r.Has(m.pressed) {
				return m.run(&r)
			}
		}
	}
	if texts := m.wouldChange(m.pressed); texts != nil {
		m.sayOne(texts...)
		return nil
	}
	m.say(m.pressed + " has no meaning here: " + m.keys.Say(listsKeys))
	return nil
}

// pressTooSmall handles a key on a terminal that is too small for the panes. Nothing would show what a key
// changes, so only those that leave the screen or draw it anew act.
func (m *Model) pressTooSmall(key string) tea.Cmd {
	for _, action := range []profiles.Action{"quit", "interrupt", "suspend", "redraw"} {
		if m.keys.Is(action, key) {
			return deeds[action](m)
		}
	}
	return nil
}

// runIsOver is the answer to keys that need a running run.
func (m *Model) runIsOver() string { return m.withRestart("the run is over", startsNext) }

func (m *Model) togglePause() tea.Cmd {
	switch {
	case m.snap == nil:
		m.say(errNotBegun.Error())
		return nil
	case words.Ended(m.snap.State):
		m.say(m.runIsOver())
		return nil
	}
	pause := !m.paused()
	m.wantPaused = &pause
	m.pauseRun(pause)
	return nil
}

// paused reports whether the run is paused, as requested or as reported.
func (m *Model) paused() bool {
	if m.wantPaused != nil {
		return *m.wantPaused
	}
	return m.snap != nil && m.snap.State == profiles.Paused
}

func (m *Model) step() tea.Cmd {
	if m.snap != nil && words.Ended(m.snap.State) {
		m.say(m.runIsOver())
		return nil
	}
	if !m.paused() || m.snap == nil {
		m.say(m.keys.Say(stepNeedsPause))
		return nil
	}
	m.do(profiles.Command{Kind: profiles.StepCommand})
	return nil
}

func (m *Model) save() tea.Cmd {
	m.say(savingPicture)
	return m.later(profiles.Command{Kind: profiles.SaveCommand})
}

func (m *Model) checkpoint() tea.Cmd {
	m.say(writingCheckpoint)
	return m.later(profiles.Command{Kind: profiles.CheckpointCommand})
}

func (m *Model) clearCaches() tea.Cmd {
	if m.snap == nil || words.Ended(m.snap.State) {
		m.complain(clearNeedsRun)
		return nil
	}
	if m.do(profiles.Command{Kind: profiles.ClearCommand}) {
		m.say(clearingCaches)
	}
	return nil
}

func (m *Model) toggleHelp() tea.Cmd { m.sheet.next(m.focus != layout.None); return nil }

func (m *Model) redraw() tea.Cmd { m.redrawPictures(); return tea.ClearScreen }

// closeOverlay goes back one step: it closes the help, the zoom or the focus.
func (m *Model) closeOverlay() tea.Cmd {
	switch {
	case m.top() != nil:
		m.lift()
	case m.sheet.page != noHelp:
		m.sheet = help{}
	case m.zoomed:
		m.toggleZoom()
	default:
		m.setFocus(layout.None)
	}
	return nil
}

func (m *Model) askQuit() tea.Cmd {
	if m.snap == nil || words.Ended(m.snap.State) || !m.can(profiles.StopCommand) { // nothing to end
		return m.quit()
	}
	m.lay(quitting{})
	return nil
}

func (m *Model) quit() tea.Cmd {
	switch {
	case m.can(profiles.StopCommand):
		m.ending, m.stopped = true, time.Now()
		m.do(profiles.Command{Kind: profiles.StopCommand})
	case m.can(profiles.LeaveCommand) && !m.over(): // another screen operates the run
		m.gone = control.ErrDetached
	}
	m.Leave()
	return tea.Quit
}

func (m *Model) interrupt() tea.Cmd {
	m.interrupted = true
	if m.options.Leave.Always {
		m.Leave()
		return tea.Quit
	}
	return m.quit()
}
