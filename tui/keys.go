package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
)

// binding is a key, what it is called in the footer and in the help, and what
// it does. The one table of bindings drives dispatch, footer and help.
type binding struct {
	key.Binding
	// short is its name in the footer; empty keeps it out of there.
	short string
	// rank says what leaves a narrow footer first: the highest.
	rank int
	// state is what it switches, as it stands; nil for actions.
	state func(*Model) (text string, pending bool)
	run   func(*Model) tea.Cmd
}

func bind(shown, help string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, help))
}

// settingKeys change settings of the run, at the next iteration boundary.
var settingKeys = []binding{
	{bind("m", "measurement cache on or off", "m"), "meas. cache", 1, lamp("measurement_cache"),
		does(func(m *Model) { m.flip("measurement_cache") })},
	{bind("f", "cache of FFT plans on or off", "f"), "FFT", 2, lamp("fft_cache"),
		does(func(m *Model) { m.flip("fft_cache") })},
	{bind("g", "cache of masks and grids on or off", "g"), "masks", 3, lamp("mask_cache"),
		does(func(m *Model) { m.flip("mask_cache") })},
	{bind("a", "mixed precision: off, bf16, fp16", "a"), "AMP", 0, text("amp"),
		does(func(m *Model) { m.cycle("amp", "off", "bf16", "fp16") })},
	{bind("p", "measuring pattern: trainer, remeasure", "p"), "", 4, text("pattern"),
		does(func(m *Model) { m.cycle("pattern", "trainer", "remeasure") })},
	{bind("l", "learning rate halved", "l"), "", 0, nil,
		does(func(m *Model) { m.scaleRate(0.5) })},
	{bind("L", "learning rate doubled", "L"), "", 0, nil,
		does(func(m *Model) { m.scaleRate(2) })},
	{bind("+", "one thread more", "+", "="), "", 0, nil,
		does(func(m *Model) { m.moreThreads(1) })},
	{bind("-", "one thread less", "-", "_"), "", 0, nil,
		does(func(m *Model) { m.moreThreads(-1) })},
}

// pairs are bindings that share a place in the footer: the letters of two keys,
// and the state that both change.
var pairs = []binding{
	{bind("l/L", ""), "rate", 5, text("learning_rate"), nil},
	{bind("−/+", ""), "threads", 6, func(m *Model) (string, bool) {
		_, pending := m.value("threads")
		return itoa(m.threads()), pending
	}, nil},
}

// actionKeys act on the run or on the screen.
var actionKeys = []binding{
	{bind("space", "pause, or go on", "space"), "pause", 2, nil, (*Model).togglePause},
	{bind("n", "one iteration of a paused run", "n"), "step", 4, nil, (*Model).step},
	{bind("s", "save the reconstruction: PNG of 16 bit, and NPY", "s"), "save", 3, nil, (*Model).save},
	{bind("R", "restart from the first weights, with these settings", "R"), "restart", 5, nil, (*Model).restart},
	{bind("?", "this help", "?", "h"), "help", 1, nil, (*Model).toggleHelp},
	{bind("esc", "close what is open", "esc"), "", 9, nil, (*Model).closeOverlay},
	{bind("ctrl+l", "draw the screen anew", "ctrl+l"), "", 9, nil, func(*Model) tea.Cmd { return tea.ClearScreen }},
	{bind("q", "quit; asks while the run goes on", "q"), "quit", 0, nil, (*Model).askQuit},
	{bind("ctrl+c", "quit at once", "ctrl+c"), "", 9, nil, (*Model).interrupt},
}

// does makes a handler of a method without a command.
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

// text shows a setting's value, as wide as its widest so that nothing moves.
func text(setting string) func(*Model) (string, bool) {
	return func(m *Model) (string, bool) {
		value, pending := m.value(setting)
		value = settingText(setting, value)
		width := map[string]int{"amp": 4, "pattern": 9, "learning_rate": 7}[setting]
		return value + strings.Repeat(" ", max(0, width-len(value))), pending
	}
}

// press runs what a key is bound to.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	if m.confirming {
		switch msg.String() {
		case "y", "Y", "enter":
			return m.quit()
		case "ctrl+c":
			return m.interrupt()
		case "n", "N", "esc", "q":
			m.confirming = false
		}
		return nil
	}
	for _, table := range [][]binding{settingKeys, actionKeys} {
		for _, b := range table {
			if key.Matches(msg, b.Binding) {
				return b.run(m)
			}
		}
	}
	return nil
}

func (m *Model) togglePause() tea.Cmd {
	if m.snap == nil || ended(m.snap.State) {
		m.say("nothing is running")
		return nil
	}
	pause := !m.paused()
	m.wantPaused = &pause
	m.control.Pause(pause)
	return nil
}

// paused is whether the run stands still, as asked for or as reported.
func (m *Model) paused() bool {
	if m.wantPaused != nil {
		return *m.wantPaused
	}
	return m.snap != nil && m.snap.State == profiles.Paused
}

func (m *Model) step() tea.Cmd {
	if !m.paused() || m.snap == nil || ended(m.snap.State) {
		m.say("n runs one iteration of a paused run: press space first")
		return nil
	}
	m.control.Step()
	return nil
}

func (m *Model) save() tea.Cmd {
	control := m.control
	m.say("saving …")
	return func() tea.Msg { return savedMsg{control.Save()} }
}

func (m *Model) restart() tea.Cmd {
	m.control.Restart()
	m.say("restarting from the first weights")
	return nil
}

func (m *Model) toggleHelp() tea.Cmd { m.helping = !m.helping; return nil }

func (m *Model) closeOverlay() tea.Cmd { m.helping = false; return nil }

func (m *Model) askQuit() tea.Cmd {
	if m.snap == nil || ended(m.snap.State) {
		return m.quit()
	}
	m.confirming = true
	return nil
}

func (m *Model) quit() tea.Cmd {
	m.control.Stop()
	m.leave()
	return tea.Quit
}

func (m *Model) interrupt() tea.Cmd {
	m.interrupted = true
	return m.quit()
}

// ended says whether a run in this state will do nothing more.
func ended(s profiles.State) bool {
	return s == profiles.Finished || s == profiles.Stopped || s == profiles.Failed
}
