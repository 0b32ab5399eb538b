package tui

import (
	"fmt"
	"slices"
	"strings"

	"prismtop/profiles/settings"
)

// This file is nine places for settings, to flip between two configurations. They
// last as long as the screen.

// bookmark is the live settings as they were stored.
type bookmark struct {
	values map[string]string
	// before is what applying it changed, to flip back; empty before that.
	before []settings.Assignment
}

const bookmarkSlots = 9

// storeNext makes the next digit store the present settings.
func (m *Model) storeNext() {
	m.storing = true
	m.say("b, then 1 to 9: keeps the present settings under that digit for this session")
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
	for _, k := range m.keys.table.Keys() {
		if k.Live {
			b.values[k.Name] = m.asked(k.Name)
		}
	}
	m.bookmarks[slot-1] = b
	m.say(fmt.Sprintf("bookmark %d keeps the present settings: %d applies them, and again goes back", slot, slot))
}

// apply applies a bookmark, all settings before one iteration; where it is in
// force already it goes back to what was before it.
func (m *Model) apply(slot int) {
	b := m.bookmarks[slot-1]
	if b == nil {
		m.say(fmt.Sprintf("bookmark %d is empty: b %d keeps the present settings there", slot, slot))
		return
	}
	sets, verb := m.differing(b), "bookmark %d: "
	if back := len(sets) == 0; back {
		if len(b.before) == 0 {
			m.say(fmt.Sprintf("bookmark %d is in force already: change a setting, then %d flips", slot, slot))
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
	m.sayChange(fmt.Sprintf(verb, slot)+strings.Join(said, ", ")+m.thresholdText(all)+m.when(), cut)
}

// differing are the bookmark's settings that are not in force, in the order of
// the table of settings.
func (m *Model) differing(b *bookmark) []settings.Assignment {
	var sets []settings.Assignment
	for _, k := range m.keys.table.Keys() {
		if v, ok := b.values[k.Name]; ok && m.asked(k.Name) != v {
			sets = append(sets, settings.Assignment{Key: k.Name, Value: v})
		}
	}
	return slices.Clip(sets)
}
