package screen

import (
	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
	"prismtop/tui/control"
)

// seat is this screen's place at the run, which may have several: it asks the source for commands, answers those that
// are refused, and asks for the right to change the run or hands it over.
type seat struct {
	*answers
	source control.Source
	shared control.Shared // nil if this is the only screen
	keys   *bindings
	asker  string // the screen that asks to operate the run, as last said
}

// do asks for a command. It complains and returns false if that is refused.
func (s *seat) do(c profiles.Command) bool {
	err := s.source.Do(c)
	s.answered(answeredMsg{c.Kind, err})
	return err == nil
}

// later asks for a command whose answer may take a while; answeredMsg brings it.
func (s *seat) later(c profiles.Command) tea.Cmd {
	source := s.source
	return func() tea.Msg { return answeredMsg{c.Kind, source.Do(c)} }
}

// announce says what is done, and asks for it.
func (s *seat) announce(text string, c profiles.Command) tea.Cmd {
	s.say(text)
	return s.later(c)
}

// answered complains if a command was refused.
func (s *seat) answered(msg answeredMsg) {
	if msg.err != nil {
		s.complain(msg.kind.Failed(msg.err))
	}
}

// change requests settings, by a press of a key that the run may decide or not. It returns an error if the run does
// not accept any.
func (s *seat) change(sets []settings.Assignment, decides bool) error {
	kind := profiles.SetCommand
	if decides {
		kind = profiles.DecideCommand
	}
	if s.operates() && !s.keys.can(kind) {
		return errReadOnly
	}
	return s.source.Do(profiles.Command{Kind: kind, Settings: sets})
}

// control returns which screen may change the run: this one, if it is the only one.
func (s *seat) control() profiles.Control {
	if s.shared == nil {
		return profiles.Control{Operates: true}
	}
	return s.shared.Control()
}

// operates reports whether this screen may change the run.
func (s *seat) operates() bool { return s.control().Operates }

// operate asks for the right to change the run, or returns it. The log has the outcome.
func (s *seat) operate() {
	before := s.control()
	kind, on := profiles.HandOverCommand, !before.Operates
	if on {
		kind = profiles.OperateCommand
	}
	if !s.do(profiles.Command{Kind: kind}) {
		return
	}
	switch asker := before.Asks; {
	case on && s.operates():
		s.sayOperates()
	case on:
		s.say(s.keys.Say(askedToOperate))
	case asker != "":
		s.say(handedOver(asker))
	default:
		s.say(s.keys.Say(gaveUpControl))
	}
}

// sayOperates says that this screen operates the run. The line of the log that names the screen before follows.
func (s *seat) sayOperates() {
	s.say(nowOperates)
	s.status.awaits = s.now().Add(outcomeLife)
}

// sayWhoAsks says once that another screen asks to operate the run, and replaces what was said of a request
// that has been decided.
func (s *seat) sayWhoAsks() {
	control := s.control()
	before := s.requestOf(s.asker)
	s.asker = control.Asks
	now, operates := s.requestOf(s.asker), control.Operates
	switch {
	case operates && s.status.text == visible.Text(s.keys.Say(askedToOperate)):
		s.sayOperates()
	case operates && now != before && now != "":
		s.say(now)
	case (!operates || now == "") && before != "" && s.status.text == visible.Text(before):
		s.status = status{}
		if who := control.Operator; !operates && who != "" {
			s.say(hasControl(who))
		}
	}
}

// requestOf says who asks to operate the run, "" for no screen.
func (s *seat) requestOf(asker string) string {
	if asker == "" {
		return ""
	}
	return wantsControl(asker, s.keys.Table)
}
