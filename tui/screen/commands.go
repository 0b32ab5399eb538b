package screen

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/keys"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/words"
)

// This file asks the source for commands. What it is not able to do has no key.

// readCommand reads all settings: the screen carries it out if it has a pane for them.
const readCommand profiles.CommandKind = "read settings"

// everyKind are the commands of keys that act on a run, wherever it is.
func everyKind() profiles.Kinds {
	return append(profiles.Every(), profiles.ExportCommand, profiles.LeaveCommand, profiles.OperateCommand, profiles.HandOverCommand, readCommand)
}

// able returns the commands that the screen may ask for now, with those that it carries out itself.
func (m *Model) able(s *profiles.Snapshot) profiles.Kinds {
	able := slices.Clip(m.source.Able(s))
	if m.exporter != nil {
		able = append(able, profiles.ExportCommand)
	}
	if m.options.Leave.Text != "" {
		able = append(able, profiles.LeaveCommand)
	}
	if m.deck.Find(settingsPane) != layout.None {
		able = append(able, readCommand)
	}
	return able
}

// can reports whether the screen may ask for all given commands.
func (m *Model) can(all ...profiles.CommandKind) bool { return m.keys.can.Has(all...) }

// do asks for a command. It complains and returns false if that is refused.
func (m *Model) do(c profiles.Command) bool {
	err := m.source.Do(c)
	m.answered(answeredMsg{c.Kind, err})
	return err == nil
}

// later asks for a command whose answer may take a while; answeredMsg brings it.
func (m *Model) later(c profiles.Command) tea.Cmd {
	source := m.source
	return func() tea.Msg { return answeredMsg{c.Kind, source.Do(c)} }
}

// answered complains if a command was refused.
func (m *Model) answered(msg answeredMsg) {
	if msg.err != nil {
		m.complain(msg.kind.Refused() + ": " + msg.err.Error())
	}
}

// pauseRun pauses the run after the current iteration, or resumes it, if supported.
func (m *Model) pauseRun(paused bool) {
	kind := profiles.ResumeCommand
	if paused {
		kind = profiles.PauseCommand
	}
	if m.can(kind) {
		m.do(profiles.Command{Kind: kind})
	}
}

// setRun requests settings, by a press of a key that the run may decide or not. It returns an error if the run does
// not accept any.
func (m *Model) setRun(sets []settings.Assignment, decides bool) error {
	kind := profiles.SetCommand
	if decides {
		kind = profiles.DecideCommand
	}
	if m.operates() && !m.can(kind) {
		return errReadOnly
	}
	return m.source.Do(profiles.Command{Kind: kind, Settings: sets})
}

// withRestart appends how to text if the run can be restarted.
func (m *Model) withRestart(text string, how profiles.Advice) string {
	if m.can(profiles.RestartCommand) {
		return text + m.keys.Say(how)
	}
	return text
}

// examined returns the change to replicate or fork: the selected one if the effects pane is
// focused, else the newest.
func (m *Model) examined() *profiles.Effect {
	if m.snap == nil || len(m.snap.Effects) == 0 {
		return nil
	}
	if id := m.deck.Find(effectsPane); id != layout.None && m.focus == id {
		if p, ok := m.panes[id].(pane.EffectPicker); ok {
			return p.Picked(m.snap)
		}
	}
	return &m.snap.Effects[len(m.snap.Effects)-1]
}

// examine asks for an examination of a change, if it is still in force; what describes it.
func (m *Model) examine(kind profiles.CommandKind, what string) {
	e := m.examined()
	switch {
	case m.snap == nil || words.Ended(m.snap.State):
		m.complain(m.withRestart(comparisonNeedsRun, startsAnother))
		return
	case e == nil:
		m.complain(noChangeYet)
		return
	case m.ablationRuns():
		m.complain(m.keys.Say(comparisonRuns))
		return
	}
	var before []settings.Assignment
	for _, c := range e.Changes() {
		if m.asked(c.Key) != c.After {
			m.complain(notInForce(words.SettingName(m.table, c.Key), words.SettingText(m.table, c.Key, c.After, m.options.Cores)))
			return
		}
		before = append(before, settings.Assignment{Key: c.Key, Value: c.Before})
	}
	if !m.do(profiles.Command{Kind: kind, Settings: before, At: e.Iteration}) {
		return
	}
	m.openPane(m.deck.Find(effectsPane))
	m.say(words.Changed(m.table, e, m.options.Cores) + " " + what)
}

// replicate switches the examined change back and forth until its effect is decided.
func (m *Model) replicate() {
	m.examine(profiles.ReplicateCommand, m.keys.Say(replicates))
}

// noChange is the iteration of a replication of no change that was made by hand.
const noChange = -1

// compareEverything switches every optimisation that saves time off and on by turns until it is decided what they
// save together. The settings are then as before.
func (m *Model) compareEverything() {
	off, _ := m.table.Everything()
	switch {
	case m.snap == nil || words.Ended(m.snap.State):
		m.complain(m.withRestart(comparisonNeedsRun, startsAnother))
		return
	case m.ablationRuns():
		m.complain(m.keys.Say(comparisonRuns))
		return
	}
	if !m.do(profiles.Command{Kind: profiles.ReplicateCommand, Settings: off, At: noChange}) {
		return
	}
	m.ablating, m.askedAt = true, m.snap.Ablation
	m.openPane(m.deck.Find(ablationPane))
	m.say(m.keys.Say(comparesEverything))
}

// forkQuality compares the result with and without the examined change from the same starting
// points.
func (m *Model) forkQuality() {
	m.examine(profiles.ForkCommand, fmt.Sprintf("is compared %d times from the same point over %d iterations; %s stops it", profiles.ForkCount, profiles.ForkArm, m.keys.Of("ablate")))
}

// wouldChange returns the answer to a key that would change a run which this screen cannot, from its longest
// version to its shortest, nil for any other.
func (m *Model) wouldChange(pressed string) []string {
	answer := func(does string) []string {
		return []string{pressed + " (" + does + ") would change the run, but this is a recording", "this is a recording: nothing in it changes"}
	}
	without := []profiles.CommandKind{profiles.LeaveCommand, profiles.OperateCommand, profiles.NoteCommand}
	switch {
	case m.operates() && m.snap != nil && m.snap.CatchingUp:
		answer = func(does string) []string { return []string{pressed + " (" + does + "): " + catchesUp, catchesUp} }
	case !m.operates() && !m.can(profiles.OperateCommand):
		why := viewerWatches
		if m.can(profiles.NoteCommand) {
			why = annotatorWatches
		}
		answer = func(does string) []string { return []string{pressed + " (" + does + "): " + why, why} }
		without = []profiles.CommandKind{profiles.LeaveCommand}
	case !m.operates():
		why := m.keys.Say(onlyWatches)
		answer = func(does string) []string { return []string{pressed + " (" + does + "): " + why, why} }
	case !m.can(profiles.PlayCommand):
		return nil
	}
	can := everyKind().Without(without...)
	for _, section := range []keys.Section{keys.Settings, keys.Run, keys.Tuning} {
		for _, r := range m.keys.all.Rows(section) {
			if r.Has(pressed) && can.Has(needs(&r)...) {
				return answer(r.Help)
			}
		}
	}
	return nil
}
