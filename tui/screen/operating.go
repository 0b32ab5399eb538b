package screen

import (
	"prismtop/profiles"
	"prismtop/profiles/visible"
)

// This file is about which of several screens may change the run.

// control returns which screen may change the run: this one, if it is the only one.
func (m *Model) control() profiles.Control {
	if m.shared == nil {
		return profiles.Control{Operates: true}
	}
	return m.shared.Control()
}

// operates reports whether this screen may change the run.
func (m *Model) operates() bool { return m.control().Operates }

// operate asks for the right to change the run, or returns it. The log has the outcome.
func (m *Model) operate() {
	before := m.control()
	kind, on := profiles.HandOverCommand, !before.Operates
	if on {
		kind = profiles.OperateCommand
	}
	if !m.do(profiles.Command{Kind: kind}) {
		return
	}
	switch asker := before.Asks; {
	case on && m.operates():
		m.sayOperates()
	case on:
		m.say(m.keys.Say(askedToOperate))
	case asker != "":
		m.say(handedOver(asker))
	default:
		m.say(m.keys.Say(gaveUpControl))
	}
}

// sayOperates says that this screen operates the run. The line of the log that names the screen before follows.
func (m *Model) sayOperates() {
	m.say(nowOperates)
	m.status.awaits = m.now().Add(outcomeLife)
}

// sayWhoAsks says once that another screen asks to operate the run, and replaces what was said of a request
// that has been decided.
func (m *Model) sayWhoAsks() {
	control := m.control()
	before := m.requestOf(m.asker)
	m.asker = control.Asks
	now, operates := m.requestOf(m.asker), control.Operates
	switch {
	case operates && m.status.text == visible.Text(m.keys.Say(askedToOperate)):
		m.sayOperates()
	case operates && now != before && now != "":
		m.say(now)
	case (!operates || now == "") && before != "" && m.status.text == visible.Text(before):
		m.status = status{}
		if who := control.Operator; !operates && who != "" {
			m.say(hasControl(who))
		}
	}
}

// requestOf says who asks to operate the run, "" for no screen.
func (m *Model) requestOf(asker string) string {
	if asker == "" {
		return ""
	}
	return wantsControl(asker, m.keys.Table)
}
