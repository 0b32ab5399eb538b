package screen

import (
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/words"
)

// This file is what the screen can ask of its source. What it cannot, has no key.

// abilities are what can be asked of a run; they may be joined.
type abilities uint8

const (
	canSet abilities = 1 << iota
	canPause
	canRestart
	canAblate
	canSave
	canStop
	canRead                // in a pane of settings
	allAbilities abilities = 1<<iota - 1
)

// has says whether all of some abilities are there.
func (a abilities) has(all abilities) bool { return all&^a == 0 }

// abilities are what can be asked of a run here.
func (m *Model) abilities(s *profiles.Snapshot) (a abilities) {
	for ability, has := range map[abilities]bool{
		canSet: m.powers.Setter != nil, canPause: m.powers.Pauser != nil, canRestart: m.powers.Restarter != nil, canAblate: m.powers.Ablator != nil,
		canSave: m.powers.Saves(s), canStop: m.powers.Stopper != nil, canRead: m.deck.Find(settingsPane) != layout.None,
	} {
		if has {
			a |= ability
		}
	}
	return a
}

// can says what can be asked of the run.
func (m *Model) can(all abilities) bool { return m.keys.can.has(all) }

// pauseRun stops the run after the current iteration, or lets it go on, where that can be.
func (m *Model) pauseRun(paused bool) {
	if m.powers.Pauser != nil {
		m.powers.Pauser.Pause(paused)
	}
}

// setRun asks for settings, or says that the run takes none.
func (m *Model) setRun(sets []settings.Assignment) error {
	if m.powers.Setter == nil {
		return errReadOnly
	}
	return m.powers.Setter.SetMany(sets)
}

// withRestart follows what waits for the next run, with the key that starts it.
func (m *Model) withRestart(text, how string) string {
	if m.can(canRestart) {
		return text + how
	}
	return text
}

// ablationRuns says whether an ablation is under way, or asked for.
func (m *Model) ablationRuns() bool {
	return m.ablating || m.snap != nil && m.snap.Ablation != nil && m.snap.Ablation.Running
}

// toggleAblation starts an ablation and shows its table, or stops it.
func (m *Model) toggleAblation() {
	if m.powers.Ablator == nil {
		m.complain("no ablation can be started from here")
		return
	}
	if m.ablationRuns() {
		m.ablating = false
		m.powers.Ablator.StopAblation()
		m.say("the ablation stops: the settings return to what they were")
		return
	}
	if m.snap == nil || words.Ended(m.snap.State) {
		m.complain("an ablation needs a run that goes on")
		return
	}
	if err := m.powers.Ablator.StartAblation(); err != nil {
		m.complain("no ablation: " + err.Error())
		return
	}
	m.ablating, m.askedAt = true, m.snap.Ablation
	m.openPane(m.deck.Find(ablationPane))
	m.say(strings.TrimSpace("ablation: A or esc stops it. " + pane.AblationLength(m.snap)))
}
