package screen

import (
	"math"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/control"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// binding is a key with its names in the footer and in the help, and its action. The tables of
// bindings (see bindings) drive dispatch, footer and help.
type binding struct {
	key.Binding
	// short is its name in the footer, and long the one where there is room; without a name or a state it is not
	// there.
	short, long string
	// rank is its priority in the footer: the lowest ranks are there, and a narrow one drops the highest first.
	rank int
	// during and afterwards restrict it in the footer to a run in progress, and to one that is over.
	during, afterwards bool
	// state returns the current value that the key changes; nil for actions.
	state func(*Model) (text string, pending bool)
	// run is its function; nil asks for the command that it needs.
	run func(*Model) tea.Cmd
	// action is the name of its first key's action in the advice of alerts; empty if it is never
	// advised.
	action profiles.Action
	// needs are the commands that it asks for. It is there only if the source is able to carry out all of them.
	needs profiles.Kinds
}

func bind(shown, help string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, help))
}

// move applies a key's move to a setting.
func (m *Model) move(k *settings.Key, how settings.Move) {
	switch {
	case how == settings.MoveWrite:
		m.editSetting(k.Name)
	case k.Name == settings.Device:
		m.otherDevice()
	case how == settings.MoveToggle && len(k.Allowed) > 1:
		m.toggle(k)
	case k.Name == "learning_rate":
		m.scaleRate(map[settings.Move]float64{settings.MoveNext: 2, settings.MoveBefore: 0.5}[how])
	default:
		m.nudge(k.Name, how != settings.MoveBefore)
	}
}

// runKeys act on the run.
var runKeys = []binding{
	{Binding: bind("space", "pause or go on", "space"), needs: profiles.Kinds{profiles.PauseCommand}, short: "pause", rank: 1, during: true, run: (*Model).togglePause},
	{Binding: bind("n", "one iteration", "n"), needs: profiles.Kinds{profiles.StepCommand}, run: (*Model).step},
	{Binding: bind("s", "save the result", "s"), needs: profiles.Kinds{profiles.SaveCommand}, short: "save", rank: 1, afterwards: true, run: (*Model).save, action: "save"},
	{Binding: bind("d", "write a checkpoint", "d"), needs: profiles.Kinds{profiles.CheckpointCommand}, run: (*Model).checkpoint},
	{Binding: bind("$", "clear all caches", "$"), needs: profiles.Kinds{profiles.ClearCommand}, run: (*Model).clearCaches, action: "clear caches"},
	{Binding: bind("r", "export to a file", "r"), needs: profiles.Kinds{profiles.ExportCommand}, run: does((*Model).openExports)},
	{Binding: bind("#", "note at this iteration", "#"), needs: profiles.Kinds{profiles.NoteCommand}, run: does((*Model).openNote)},
	{Binding: bind("D", "leave the run going", "D"), needs: profiles.Kinds{profiles.LeaveCommand}, run: (*Model).detach},
	{Binding: bind("I", "operate, hand over", "I"), needs: profiles.Kinds{profiles.OperateCommand}, run: does((*Model).operate)},
	{Binding: bind("R", "restart, asks first", "R"), needs: profiles.Kinds{profiles.RestartCommand}, short: "restart", rank: 0, afterwards: true, run: (*Model).restart, action: "restart"},
}

// playKeys act on a replay.
var playKeys = []binding{
	{Binding: bind("space", "play or pause", "space"), needs: profiles.Kinds{profiles.PlayCommand}, short: "play", long: "play, pause", rank: 1, run: does(func(m *Model) { m.play(profiles.PlayCommand, 0) })},
	{Binding: bind("<", "10 seconds back", "<", "left"), needs: profiles.Kinds{profiles.PlayCommand}, run: does(func(m *Model) { m.skip(-skipped) })},
	{Binding: bind(">", "10 seconds on", ">", "right"), needs: profiles.Kinds{profiles.PlayCommand}, short: "on", rank: 2, run: does(func(m *Model) { m.skip(skipped) })},
	{Binding: bind("[", "half the speed", "["), needs: profiles.Kinds{profiles.PlayCommand}, run: does(func(m *Model) { m.faster(-1) })},
	{Binding: bind("]", "twice the speed", "]"), needs: profiles.Kinds{profiles.PlayCommand}, short: "faster", rank: 2, run: does(func(m *Model) { m.faster(1) })},
	{Binding: bind("n", "one snapshot on", "n"), needs: profiles.Kinds{profiles.PlayCommand}, run: does(func(m *Model) { m.play(profiles.SkipCommand, 1) })},
	{Binding: bind("N", "one snapshot back", "N"), needs: profiles.Kinds{profiles.PlayCommand}, run: does(func(m *Model) { m.play(profiles.SkipCommand, -1) })},
	{Binding: bind("}", "next change of a setting", "}"), needs: profiles.Kinds{profiles.PlayCommand}, short: "change", rank: 3, run: does(func(m *Model) { m.jump(1, profiles.ChangeMark) })},
	{Binding: bind("{", "change before", "{"), needs: profiles.Kinds{profiles.PlayCommand}, run: does(func(m *Model) { m.jump(-1, profiles.ChangeMark) })},
	{Binding: bind(")", "next alert", ")"), needs: profiles.Kinds{profiles.PlayCommand}, run: does(func(m *Model) { m.jump(1, profiles.AlertMark) })},
	{Binding: bind("(", "alert before", "("), needs: profiles.Kinds{profiles.PlayCommand}, run: does(func(m *Model) { m.jump(-1, profiles.AlertMark) })},
	{Binding: bind("'", "next note", "'"), needs: profiles.Kinds{profiles.PlayCommand}, run: does(func(m *Model) { m.jump(1, profiles.NoteMark) })},
	{Binding: bind("\"", "note before", "\""), needs: profiles.Kinds{profiles.PlayCommand}, run: does(func(m *Model) { m.jump(-1, profiles.NoteMark) })},
	{Binding: bind("1-9", "to a tenth of it", "1", "2", "3", "4", "5", "6", "7", "8", "9"), needs: profiles.Kinds{profiles.PlayCommand},
		run: does(func(m *Model) { m.seekShare(float64(m.pressed[0]-'0') / 10) })},
	{Binding: bind("home", "to the beginning", "home", "0"), needs: profiles.Kinds{profiles.PlayCommand}, run: does(func(m *Model) { m.seekShare(0) })},
	{Binding: bind("end", "to the end; follows a run in progress", "end"), needs: profiles.Kinds{profiles.PlayCommand}, run: does(func(m *Model) { m.seek(math.MaxInt64) })},
}

// screenKeys change the screen.
var screenKeys = []binding{
	{Binding: bind("?", "explain: pane, then keys", "?", "h"), short: "help", long: "every key", rank: 0, run: (*Model).toggleHelp},
	{Binding: bind(pane.AlertKey, "alerts, with what to do", pane.AlertKey), run: does((*Model).toggleAlerts)},
	{Binding: bind("tab", "next pane", "tab"), short: "pane", rank: 9, run: does(func(m *Model) { m.cycleFocus(1) })},
	{Binding: bind("⇧tab", "previous pane", "shift+tab"), run: does(func(m *Model) { m.cycleFocus(-1) })},
	{Binding: bind("z", "zoom the pane", "z", "enter"), run: does((*Model).toggleZoom)},
	{Binding: bind("v x i", "its view, scale, look", "v", "x", "i"), run: does((*Model).needsFocus), action: "view memory"},
	{Binding: bind("w", "next layout", "w"), short: "layout", rank: 11, run: does((*Model).nextArrangement)},
	{Binding: bind("P", "show and hide panes", "P"), short: "panes", rank: 10, run: does((*Model).openChooser)},
	{Binding: bind("M", "mouse on or off", "M"), run: does((*Model).toggleMouse)},
	{Binding: bind("ctrl+z", "suspend", "ctrl+z"), run: (*Model).suspend},
	{Binding: bind("C", "colours", "C"), run: does((*Model).cycleColours)},
	{Binding: bind("B", "bandwidth", "B"), run: does((*Model).cycleBandwidth)},
	{Binding: bind("esc", "close what is open", "esc"), run: (*Model).closeOverlay},
	{Binding: bind("ctrl+l", "redraw the screen", "ctrl+l"), run: (*Model).redraw},
	{Binding: bind("q", "quit; in a run twice", "q"), short: "quit", rank: 0, run: (*Model).askQuit},
	{Binding: bind("ctrl+c", "quit at once", "ctrl+c"), run: (*Model).interrupt, action: "interrupt"},
}

// does turns a method without a command into a handler.
func does(f func(*Model)) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd { f(m); return nil }
}

// lamp shows a switch as ● or ○.
func lamp(setting string) func(*Model) (string, bool) {
	return func(m *Model) (string, bool) {
		value, pending := m.value(setting)
		if value == "true" {
			return "●", pending
		}
		return "○", pending
	}
}

// text shows a setting's value at a fixed width, so that nothing moves.
func text(setting string, width int) func(*Model) (string, bool) {
	return func(m *Model) (string, bool) {
		value, pending := m.value(setting)
		value = m.textOf(setting, value)
		return value + strings.Repeat(" ", max(0, width-len(value))), pending
	}
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
	if m.confirming {
		switch msg.String() {
		case "y", "Y", "q":
			return m.quit()
		case "D":
			if m.can(profiles.LeaveCommand) {
				return m.detach()
			}
			m.confirming = false
		case "ctrl+c":
			return m.interrupt()
		default:
			m.confirming = false
		}
		return nil
	}
	if m.layout.TooSmall && m.layout.W > 0 {
		return m.pressTooSmall(m.pressed)
	}
	if m.restarting {
		return m.answerRestart(m.pressed)
	}
	if m.choosing != nil {
		return m.pressChooser(msg)
	}
	if m.picking != nil {
		return m.pressPicker(msg)
	}
	if m.comparing != nil {
		return m.pressComparing(msg)
	}
	if m.exporting != nil {
		return m.pressExporting(msg)
	}
	if m.noting != nil {
		return m.pressNote(msg)
	}
	if m.typing != nil {
		if cmd, left := m.pressTyping(msg); !left {
			return cmd
		}
	}
	if m.sheet.page != noHelp {
		if m.pressed == "esc" { // before the pane beneath, which may handle esc itself
			return m.closeOverlay()
		}
		if m.sheet.Move(msg.String()) {
			return nil
		}
	}
	if m.focus != layout.None && m.panes[m.focus].Press(msg.String()) {
		if t, ok := m.panes[m.focus].(pane.Teller); ok {
			if said := t.Tell(); said != "" {
				m.say(said)
			}
		}
		return nil
	}
	if m.can(profiles.PlayCommand) && !m.status.bad { // of another moment
		m.status = status{}
	}
	for _, table := range m.keys.tables() {
		for _, b := range table.keys {
			if key.Matches(msg, b.Binding) {
				return m.run(&b)
			}
		}
	}
	if texts := m.wouldChange(m.pressed); texts != nil {
		m.sayOne(texts...)
		return nil
	}
	m.say(m.pressed + " has no meaning here: ? lists the keys")
	return nil
}

// run carries out a binding: by its function, or by the one command that it asks for.
func (m *Model) run(b *binding) tea.Cmd {
	if b.run != nil {
		return b.run(m)
	}
	return m.later(profiles.Command{Kind: b.needs[0]})
}

// pressTooSmall handles a key on a terminal that is too small for the panes. Nothing would show what a key
// changes, so only those that leave the screen or draw it anew act.
func (m *Model) pressTooSmall(key string) tea.Cmd {
	switch key {
	case "q":
		return m.askQuit()
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+z":
		return m.suspend()
	case "ctrl+l":
		return m.redraw()
	}
	return nil
}

// runIsOver is the answer to keys that need a running run.
func (m *Model) runIsOver() string { return m.withRestart("the run is over", ": R starts the next") }

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
		m.say(stepNeedsPause)
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
	case m.choosing != nil:
		m.choosing = nil
	case m.picking != nil:
		m.picking = nil
	case m.comparing != nil:
		m.comparing = nil
	case m.exporting != nil:
		m.exporting = nil
	case m.noting != nil:
		m.noting = nil
	case m.typing != nil:
		m.typing = nil
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
	m.confirming = true
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
