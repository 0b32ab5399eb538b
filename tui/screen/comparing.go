package screen

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/chart"
	"prismtop/tui/keys"
	"prismtop/tui/pane/ablation"
	"prismtop/tui/words"
)

// This file starts and stops ablations. Where a run has several settings to compare, a list offers
// an ablation of single settings, which is selected, and one of every combination of some.

// comparing is the open list of ablations.
type comparing struct{ *ablation.Choice }

// ablationRuns reports whether an ablation is under way or requested. A decision, which makes way for one, is none.
func (m *Model) ablationRuns() bool {
	return m.ablating || m.snap != nil && m.snap.Ablation != nil && m.snap.Ablation.Running && !m.snap.Ablation.Decides()
}

// deciding describes the decision under way on a press of a key, "" for none: "a: deciding, 3 of 8".
func (m *Model) deciding() string {
	if m.snap == nil || m.snap.Ablation == nil || !m.snap.Ablation.Running || !m.snap.Ablation.Decides() {
		return ""
	}
	return m.decisionKey() + m.snap.Ablation.Progress()
}

// decisionKey names the key of the setting that is decided, "" for several: "a: ".
func (m *Model) decisionKey() string {
	if k, ok := m.table.Lookup(m.snap.Ablation.Rows[0].Key); ok && len(k.Presses) > 0 {
		if key := m.keys.Of(keys.ActionOf(k, k.Presses[0].Does)); key != "" {
			return key + ": "
		}
	}
	return ""
}

// sayDecision shows the result of a decision that has just ended by itself.
func (m *Model) sayDecision(before *profiles.Ablation) {
	a := m.snap.Ablation
	if before == nil || a == nil || !before.Running || !before.Decides() || a.Running || a.Of != before.Of || !a.Concluded() {
		return
	}
	m.sayOne(words.Decision(m.table, a, m.options.Cores, m.decisionKey())...)
}

// toggleAblation offers the ablations of the run, or stops the one under way.
func (m *Model) toggleAblation() {
	if !m.can(profiles.AblateCommand) {
		m.complain(cannotAblate)
		return
	}
	if m.ablationRuns() {
		m.ablating = false
		m.do(profiles.Command{Kind: profiles.StopAblationCommand})
		m.say(ablationStops)
		return
	}
	if m.snap == nil || words.Ended(m.snap.State) {
		m.complain(m.keys.Say(ablationNeedsRun))
		return
	}
	if !ablation.Offered(m.table) {
		m.startAblation(nil, ablation.Length(m.snap))
		return
	}
	m.lay(&comparing{ablation.NewChoice(m.table, m.keep.Factorial[m.table.Workload])})
}

// startAblation starts an ablation, of every combination of factors if there are some, and shows its table.
func (m *Model) startAblation(factors []settings.Factor, length string) {
	if !m.do(profiles.Command{Kind: profiles.AblateCommand, Factors: factors}) {
		return
	}
	m.ablating, m.askedAt = true, m.snap.Ablation
	m.openPane(m.deck.Find(ablationPane))
	m.say(strings.TrimSpace(m.keys.Say(stopsAblation) + length))
}

func (c *comparing) press(m *Model, s string) (cmd tea.Cmd, left bool) {
	switch {
	case m.closes(s):
		m.lift()
	case s == "enter" || m.keys.Is("ablate", s):
		c.start(m)
	default:
		if said := c.Press(s); said != "" {
			m.say(said)
		}
	}
	return nil, false
}

// start starts the selected ablation and closes the list.
func (c *comparing) start(m *Model) {
	if !c.Factorial() {
		m.lift()
		m.startAblation(nil, ablation.Length(m.snap))
		return
	}
	factors, err := c.Factors()
	if err != nil {
		m.complain(err.Error())
		return
	}
	m.lift()
	m.keep.chooseFactorial(m.table.Workload, c.Names())
	m.startAblation(factors, ablation.FactorialLength(m.snap, len(factors)))
}

func (c *comparing) box(m *Model) []string {
	rows := min(c.Rows(), m.layout.H-2)
	return m.dialog("Ablation", m.keys.Say(ablationStarts), ablation.ChoiceWidth, rows, func(on *chart.Canvas) {
		c.Draw(on, m.snap)
	})
}
