package screen

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// This file restarts the run: a restart discards the results of the run, so it asks first.

// restart restarts the run, or asks first if anything would be lost.
func (m *Model) restart() tea.Cmd {
	if !m.do(profiles.Command{Kind: profiles.RestartCommand, Try: true}) {
		return nil
	}
	if len(m.lost()) == 0 {
		m.startAgain()
		return nil
	}
	m.lay(restarting{})
	return nil
}

// lost describes what a restart discards, nil before the first iteration.
func (m *Model) lost() []string {
	s := m.snap
	if s == nil || s.Index == 0 {
		return nil
	}
	lost := []string{unit.About(s.Index, "iteration", "iterations") + ", their weights and the picture"}
	if n := len(s.Effects); n > 0 {
		lost = append(lost, unit.About(int64(n), "effect", "effects")+" of changes, and the marks in the charts")
	}
	return lost
}

// restarting asks whether to restart the run; any other key than its own keeps it.
type restarting struct{}

func (restarting) press(m *Model, key string) (cmd tea.Cmd, left bool) {
	switch {
	case m.keys.Is("restart", key): // held down or pressed twice, it must not discard the run
	case key == "y" || key == "Y":
		m.lift()
		m.startAgain()
	case m.keys.Is("save", key):
		return m.save(), false
	default:
		m.lift()
		m.say("not restarted")
	}
	return nil, false
}

// startAgain restarts the run. The run reports the outcome.
func (m *Model) startAgain() {
	if m.do(profiles.Command{Kind: profiles.RestartCommand}) {
		m.say(restartingRun)
	}
}

func (restarting) box(m *Model) []string {
	w := min(64, m.layout.W-4)
	lines := []string{"Restart? This run loses:"}
	for _, l := range m.lost() {
		lines = append(lines, "  "+l)
	}
	if run := &m.snap.Run; run.Checkpoint != "" {
		stays := fmt.Sprintf("Its checkpoint stays in %s; the next run writes to %s.", run.Checkpoint, run.NextCheckpoint)
		lines = append(lines, words.Wrap(visible.Text(stays), w)...)
	}
	if next := m.waiting(); len(next) > 0 {
		lines = append(lines, words.Wrap("The next run has "+strings.Join(next, ", ")+".", w)...)
	}
	if most := max(1, m.layout.H-5); len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("… and %d more lines: %s", len(lines)-most+1, m.keys.Say(settingsLists)))
	}
	return m.dialog("Restart", "", w, len(lines)+2, func(c *chart.Canvas) {
		for y, l := range lines {
			c.Text(0, y, chart.Cut(l, w), theme.Plain)
		}
		x, y := 0, len(lines)+1
		keys := []pane.Hint{{Key: "y", Does: "restart"}, {Key: m.keys.Of("save"), Does: "save the picture first"}, {Key: "any other key", Does: "leaves it"}}
		if !m.can(profiles.SaveCommand) {
			keys = slices.Delete(keys, 1, 2)
		}
		for _, h := range keys {
			x = c.Text(x, y, h.Key, theme.Key)
			x = c.Text(x+1, y, h.Does, theme.Plain) + 3
		}
	})
}
