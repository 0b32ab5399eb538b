package tui

import (
	"strings"

	"prismtop/profiles/settings"
)

// This file is the way back: u undoes the last change, again the one before. The
// history is the screen's own, so it outlives a restart of the run.

// flip is one setting of a change that was asked for.
type flip struct{ key, before, after string }

// undoStep is what was asked for at once.
type undoStep []flip

// history is what can be undone, oldest first.
type history struct{ steps []undoStep }

// maxHistory bounds it.
const maxHistory = 256

func (h *history) push(s undoStep) {
	var kept undoStep
	for _, f := range s {
		if f.before != f.after {
			kept = append(kept, f)
		}
	}
	if len(kept) == 0 {
		return
	}
	h.steps = append(h.steps, kept)
	if drop := len(h.steps) - maxHistory; drop > 0 {
		h.steps = append(h.steps[:0], h.steps[drop:]...)
	}
}

// undo asks for the settings as they were before the last change that is not
// undone yet.
func (m *Model) undo() {
	n := len(m.history.steps)
	if n == 0 {
		m.say("nothing to undo: no setting was changed here")
		return
	}
	last := m.history.steps[n-1]
	var sets []settings.Assignment
	for _, f := range last {
		sets = append(sets, settings.Assignment{Key: f.key, Value: f.before})
	}
	all := m.wanted()
	from := make([]string, len(last))
	for i, f := range last {
		from[i] = m.asked(f.key)
	}
	cut := m.cutShort(keysIn(sets)...)
	if err := m.request(sets, false); err != nil {
		m.complain("not undone: " + err.Error())
		return
	}
	m.history.steps = m.history.steps[:n-1]
	var said, keys []string
	for i, f := range last {
		keys = append(keys, f.key)
		said = append(said, m.nameOf(f.key)+" "+m.textOf(f.key, from[i])+" → "+m.textOf(f.key, f.before))
	}
	m.sayChange("undone: "+strings.Join(said, ", ")+m.thresholdText(all)+m.when(keys...), cut)
}
