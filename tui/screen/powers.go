package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/transport"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// This file determines what the screen can request from its source, and makes the requests.
// Unsupported requests have no key.

// abilities are the requests that a run supports; they can be combined.
type abilities uint16

const (
	canSet abilities = 1 << iota
	canPause
	canRestart
	canAblate
	canReplicate
	canFork
	canSave
	canCheckpoint
	canClear
	canExport
	canStop
	canDetach
	canOperate
	canAnnotate
	canRead                              // a settings pane exists
	allAbilities abilities = 1<<iota - 1 // of a run
	canPlay      abilities = 1 << 15     // it is a recording, which has none of those that change a run
)

// has reports whether all given abilities are present.
func (a abilities) has(all abilities) bool { return all&^a == 0 }

// abilities returns the requests that the run of a snapshot supports.
func (m *Model) abilities(s *profiles.Snapshot) (a abilities) {
	for ability, has := range map[abilities]bool{
		canSet: m.powers.Setter != nil, canPause: m.powers.Pauser != nil, canRestart: m.powers.Restarter != nil, canAblate: m.powers.Ablator != nil,
		canReplicate: m.powers.Replicator != nil && m.powers.Ablator != nil, canFork: m.powers.Forks(s) && m.powers.Ablator != nil,
		canSave: m.powers.Saves(s), canCheckpoint: m.powers.Checkpoints(s), canClear: m.powers.Clears(s), canExport: m.powers.Exporter != nil, canStop: m.powers.Stopper != nil, canRead: m.deck.Find(settingsPane) != layout.None,
		canPlay: m.powers.Player != nil, canDetach: m.options.Leave.Text != "", canOperate: m.powers.Operator != nil && m.powers.Operator.MayOperate(),
		canAnnotate: m.powers.Annotates(),
	} {
		if has {
			a |= ability
		}
	}
	if !m.powers.Operates() || s != nil && s.CatchingUp {
		a &= canRead | canExport | canDetach | canOperate | canAnnotate
	}
	return a
}

// can reports whether the run supports all given requests.
func (m *Model) can(all abilities) bool { return m.keys.can.has(all) }

// pauseRun pauses the run after the current iteration, or resumes it, if supported.
func (m *Model) pauseRun(paused bool) {
	if m.powers.Pauser != nil {
		m.powers.Pauser.Pause(paused)
	}
}

// setRun requests settings, by a press of a key that the run may decide or not. It returns an error if the run does
// not accept any.
func (m *Model) setRun(sets []settings.Assignment, decides bool) error {
	switch {
	case m.powers.Setter == nil:
		return errReadOnly
	case decides:
		return m.powers.Press(sets)
	}
	return m.powers.Setter.SetMany(sets)
}

// withRestart appends how to text if the run can be restarted.
func (m *Model) withRestart(text, how string) string {
	if m.can(canRestart) {
		return text + how
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

// examine calls ask to examine a change, if it is still in force; what describes the examination.
func (m *Model) examine(ask func(before []settings.Assignment, iteration int64) error, what string) {
	e := m.examined()
	switch {
	case m.snap == nil || words.Ended(m.snap.State):
		m.complain(m.withRestart(comparisonNeedsRun, "; R starts another"))
		return
	case e == nil:
		m.complain(noChangeYet)
		return
	case m.ablationRuns():
		m.complain(comparisonRuns)
		return
	}
	var before []settings.Assignment
	for _, c := range e.Changes() {
		if m.asked(c.Key) != c.After {
			m.complain(notInForce(words.SettingName(m.keys.table, c.Key), words.SettingText(m.keys.table, c.Key, c.After, m.options.Cores)))
			return
		}
		before = append(before, settings.Assignment{Key: c.Key, Value: c.Before})
	}
	if err := ask(before, e.Iteration); err != nil {
		m.complain(err.Error())
		return
	}
	m.openPane(m.deck.Find(effectsPane))
	m.say(words.Changed(m.keys.table, e, m.options.Cores) + " " + what)
}

// replicate switches the examined change back and forth until its effect is decided.
func (m *Model) replicate() {
	m.examine(m.powers.Replicator.Replicate, replicates)
}

// noChange is the iteration of a replication of no change that was made by hand.
const noChange = -1

// compareEverything switches every optimisation that saves time off and on by turns until it is decided what they
// save together. The settings are then as before.
func (m *Model) compareEverything() {
	off, _ := m.keys.table.Everything()
	switch {
	case m.snap == nil || words.Ended(m.snap.State):
		m.complain(m.withRestart(comparisonNeedsRun, "; R starts another"))
		return
	case m.ablationRuns():
		m.complain(comparisonRuns)
		return
	}
	if err := m.powers.Replicator.Replicate(off, noChange); err != nil {
		m.complain(err.Error())
		return
	}
	m.ablating, m.askedAt = true, m.snap.Ablation
	m.openPane(m.deck.Find(ablationPane))
	m.say(comparesEverything)
}

// forkQuality compares the result with and without the examined change from the same starting
// points.
func (m *Model) forkQuality() {
	m.examine(m.powers.Forker.Fork, fmt.Sprintf("is compared %d times from the same point over %d iterations; A stops it", profiles.ForkCount, profiles.ForkArm))
}

// The following functions ask a replay; they are bound only if the source is one.

// skipped is how far a key goes in a replay.
const skipped = 10 * time.Second

func (m *Model) playOrPause() {
	playing := !m.powers.Player.Position().Playing
	m.powers.Player.Play(playing)
}

func (m *Model) faster(doublings int) {
	m.powers.Player.Faster(doublings)
	m.say("speed " + transport.Speed(m.powers.Player.Position().Speed, m.options.ASCII))
}

// jump goes to the next mark of a kind, or to the one before, and says what it is.
func (m *Model) jump(direction int, kind profiles.MarkKind) {
	now := m.powers.Player.Position()
	to := now.Next(direction, kind)
	switch {
	case to != nil:
		m.powers.Player.Seek(to.At)
		m.say(to.Text)
	case kind == profiles.AlertMark:
		m.say(noMark("alert", direction))
	case kind == profiles.NoteMark:
		m.say(noMark("note", direction))
	default:
		m.say(noMark("change of a setting", direction))
	}
}

// seekShare goes to a share of the recording, 0 to 1; at 1 it follows a run that goes on.
func (m *Model) seekShare(share float64) {
	p := m.powers.Player.Position()
	m.powers.Player.Seek(p.Moment(share))
}

// skip goes on by a time, or back.
func (m *Model) skip(by time.Duration) {
	m.powers.Player.Seek(m.powers.Player.Position().At + by)
}

// wouldChange returns the answer to a key that would change a run which this screen cannot, from its longest
// version to its shortest, nil for any other.
func (m *Model) wouldChange(pressed string) []string {
	answer := func(does string) []string {
		return []string{pressed + " (" + does + ") would change the run, but this is a recording", "this is a recording: nothing in it changes"}
	}
	without := canDetach | canOperate | canAnnotate
	switch {
	case m.powers.Operates() && m.snap != nil && m.snap.CatchingUp:
		answer = func(does string) []string { return []string{pressed + " (" + does + "): " + catchesUp, catchesUp} }
	case !m.powers.Operates() && !m.can(canOperate):
		why := viewerWatches
		if m.can(canAnnotate) {
			why = annotatorWatches
		}
		answer = func(does string) []string { return []string{pressed + " (" + does + "): " + why, why} }
		without = canDetach
	case !m.powers.Operates():
		answer = func(does string) []string { return []string{pressed + " (" + does + "): " + onlyWatches, onlyWatches} }
	case !m.can(canPlay):
		return nil
	}
	for _, table := range bindingsOf(m.keys.table, allAbilities&^without).tables() {
		for _, b := range table.keys {
			if slices.Contains(b.Keys(), pressed) {
				return answer(b.Help().Desc)
			}
		}
	}
	return nil
}

// openNote opens the line in which a note is written.
func (m *Model) openNote() {
	if m.snap == nil {
		m.complain(errNotBegun.Error())
		return
	}
	m.noting = widget.NewInput("")
}

// pressNote handles a key while a note is written.
func (m *Model) pressNote(msg tea.KeyPressMsg) tea.Cmd {
	switch s := msg.String(); s {
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+l":
		return m.redraw()
	case "esc":
		m.noting = nil
	case "enter":
		text, annotator := strings.TrimSpace(m.noting.Value()), m.powers.Annotator
		if _, err := profiles.NewNote("", text); err != nil && text != "" {
			m.complain("no note: " + err.Error())
			return nil
		}
		if m.noting = nil; text == "" {
			return nil
		}
		m.say(writingNote)
		return func() tea.Msg { return notedMsg{annotator.Annotate(text)} }
	default:
		m.noting.Press(s)
	}
	return nil
}

// noteBox returns the lines of the note that is written.
func (m *Model) noteBox() []string {
	return m.dialog(fmt.Sprintf("Note at iteration %d", m.snap.Index), "enter writes it, esc leaves", 70, 1, func(c *chart.Canvas) {
		w, _ := c.Size()
		m.noting.Draw(c, 0, 0, w)
	})
}

// sayWhoAsks says once that another screen asks to operate the run, and replaces what was said of a request
// that has been decided.
func (m *Model) sayWhoAsks() {
	of := m.powers.Operator
	if of == nil {
		return
	}
	before := requestOf(m.asker)
	m.asker = of.Asks()
	now, operates := requestOf(m.asker), of.Operates()
	switch {
	case operates && m.status.text == visible.Text(askedToOperate):
		m.sayOperates()
	case operates && now != before && now != "":
		m.say(now)
	case (!operates || now == "") && before != "" && m.status.text == visible.Text(before):
		m.status = status{}
		if who := of.Operator(); !operates && who != "" {
			m.say(hasControl(who))
		}
	}
}

// requestOf says who asks to operate the run, "" for no screen.
func requestOf(asker string) string {
	if asker == "" {
		return ""
	}
	return wantsControl(asker)
}

// rewound reports whether a snapshot is of an earlier moment than the one on screen.
func (m *Model) rewound(s *profiles.Snapshot) bool {
	return m.snap != nil && (s.Run.PriorStarts < m.snap.Run.PriorStarts || s.Run.PriorStarts == m.snap.Run.PriorStarts && s.Index < m.snap.Index)
}
