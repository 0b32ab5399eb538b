package screen

import (
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/control"
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

// powers are the source's capabilities; nil for those that it has not.
type powers struct {
	setter    control.Setter
	pauser    control.Pauser
	restarter control.Restarter
	ablator   control.Ablator
	saver     control.Saver
	stopper   control.Stopper
}

func powersOf(s control.Source) (p powers) {
	p.setter, _ = s.(control.Setter)
	p.pauser, _ = s.(control.Pauser)
	p.restarter, _ = s.(control.Restarter)
	p.ablator, _ = s.(control.Ablator)
	p.saver, _ = s.(control.Saver)
	p.stopper, _ = s.(control.Stopper)
	return p
}

// abilities are what can be asked of a run; one that has not said yet what it is may have
// something to save.
func (p *powers) abilities(s *profiles.Snapshot) (a abilities) {
	for ability, has := range map[abilities]bool{
		canSet: p.setter != nil, canPause: p.pauser != nil, canRestart: p.restarter != nil, canAblate: p.ablator != nil,
		canSave: p.saver != nil && (s == nil || s.Run.Schema.Workload == "" || s.Run.Saves), canStop: p.stopper != nil,
	} {
		if has {
			a |= ability
		}
	}
	return a
}

// abilities are what can be asked of a run here.
func (m *Model) abilities(s *profiles.Snapshot) abilities {
	a := m.powers.abilities(s)
	if m.deck.Find(settingsPane) != layout.None {
		a |= canRead
	}
	return a
}

// can says what can be asked of the run.
func (m *Model) can(all abilities) bool { return m.keys.can.has(all) }

// pauseRun stops the run after the current iteration, or lets it go on, where that can be.
func (m *Model) pauseRun(paused bool) {
	if m.powers.pauser != nil {
		m.powers.pauser.Pause(paused)
	}
}

// stopRun ends the run where that can be.
func (m *Model) stopRun() {
	if m.powers.stopper != nil {
		m.powers.stopper.Stop()
	}
}

// setRun asks for settings, or says that the run takes none.
func (m *Model) setRun(sets []settings.Assignment) error {
	if m.powers.setter == nil {
		return errReadOnly
	}
	return m.powers.setter.SetMany(sets)
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
	if m.powers.ablator == nil {
		m.complain("no ablation can be started from here")
		return
	}
	if m.ablationRuns() {
		m.ablating = false
		m.powers.ablator.StopAblation()
		m.say("the ablation stops: the settings return to what they were")
		return
	}
	if m.snap == nil || words.Ended(m.snap.State) {
		m.complain("an ablation needs a run that goes on")
		return
	}
	if err := m.powers.ablator.StartAblation(); err != nil {
		m.complain("no ablation: " + err.Error())
		return
	}
	m.ablating, m.askedAt = true, m.snap.Ablation
	m.openPane(m.deck.Find(ablationPane))
	m.say(strings.TrimSpace("ablation: A or esc stops it. " + pane.AblationLength(m.snap)))
}
