package screen

import (
	"fmt"
	"strings"

	"prismtop/profiles/settings"
)

// This file restores earlier settings: by nine bookmarks, which switch between two
// configurations, and by u, which undoes the last change, then the ones before it. Both last as
// long as the screen, and therefore survive a restart of the run.

// bookmark holds stored live settings.
type bookmark struct {
	values map[string]string
	// before holds the values replaced by applying it, to switch back; empty until then.
	before []settings.Assignment
}

const bookmarkSlots = 9

// storeNext makes the next digit store the present settings.
func (m *Model) storeNext() {
	m.storing = true
	m.say(bookmarkNext)
}

// digit stores or applies a bookmark; slot counts from 1.
func (m *Model) digit(slot int) {
	if m.storing {
		m.storing = false
		m.store(slot)
		return
	}
	m.apply(slot)
}

func (m *Model) store(slot int) {
	if m.snap == nil {
		m.say(errNotBegun.Error())
		return
	}
	b := &bookmark{values: map[string]string{}}
	for _, k := range m.table.Keys() {
		if k.Live {
			b.values[k.Name] = m.asked(k.Name)
		}
	}
	m.bookmarks[slot-1] = b
	m.say(bookmarkKept(slot))
}

// apply applies a bookmark, all settings before the same iteration. If it is already in force, it
// restores the settings before it.
func (m *Model) apply(slot int) {
	b := m.bookmarks[slot-1]
	if b == nil {
		m.say(bookmarkEmpty(slot, m.keys.Table))
		return
	}
	sets, verb := m.differing(b), "bookmark %d: "
	if back := len(sets) == 0; back {
		if len(b.before) == 0 {
			m.say(bookmarkInForce(slot))
			return
		}
		sets, verb = b.before, "back from bookmark %d: "
	}
	var before []settings.Assignment
	var said []string
	for _, a := range sets {
		now := m.asked(a.Key)
		before = append(before, settings.Assignment{Key: a.Key, Value: now})
		said = append(said, m.nameOf(a.Key)+" "+m.textOf(a.Key, now)+" → "+m.textOf(a.Key, a.Value))
	}
	all, cut := m.wanted(), m.cutShort(keysIn(sets)...)
	if err := m.ask(sets...); err != nil {
		m.complain(fmt.Sprintf("bookmark %d was not applied: %v", slot, err))
		return
	}
	if verb == "bookmark %d: " {
		b.before = before
	}
	m.sayChange(fmt.Sprintf(verb, slot)+strings.Join(said, ", ")+m.suspensions(all)+m.when(), cut)
}

// flip is the change of one setting in a request.
type flip struct{ key, before, after string }

// undoStep is the changes of one request.
type undoStep []flip

// history holds the changes that can be undone, oldest first.
type history struct{ steps []undoStep }

// maxHistory is the maximum length of a history.
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

// undo requests the settings before the last change that has not been undone yet.
func (m *Model) undo() {
	n := len(m.history.steps)
	if n == 0 {
		m.say(nothingToUndo)
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
	m.sayChange("undone: "+strings.Join(said, ", ")+m.suspensions(all)+m.when(keys...), cut)
}
