package screen

import (
	"fmt"
	"slices"
	"strings"

	"prismtop/profiles/settings"
)

// bookmarks are nine sets of live settings that the user has stored under digits, which switch between two
// configurations. They last as long as the screen, and therefore survive a restart of the run.
type bookmarks struct {
	*tuning
	slots   [bookmarkSlots]*bookmark
	storing bool // the next digit stores a bookmark
}

// bookmark holds stored live settings.
type bookmark struct {
	values map[string]string
	// before holds the values replaced by applying it, to switch back; empty until then.
	before []settings.Assignment
}

const bookmarkSlots = 9

// storeNext makes the next digit store the present settings.
func (b *bookmarks) storeNext() {
	b.storing = true
	b.say(bookmarkNext)
}

// digit stores or applies a bookmark; slot counts from 1.
func (b *bookmarks) digit(slot int) {
	if b.storing {
		b.storing = false
		b.store(slot)
		return
	}
	b.apply(slot)
}

func (b *bookmarks) store(slot int) {
	if b.snap == nil {
		b.say(errNotBegun.Error())
		return
	}
	mark := &bookmark{values: map[string]string{}}
	for _, k := range b.table.Keys() {
		if k.Live {
			mark.values[k.Name] = b.asked(k.Name)
		}
	}
	b.slots[slot-1] = mark
	b.say(bookmarkKept(slot))
}

// apply applies a bookmark, all settings before the same iteration. If it is already in force, it
// restores the settings before it.
func (b *bookmarks) apply(slot int) {
	mark := b.slots[slot-1]
	if mark == nil {
		b.say(bookmarkEmpty(slot, b.keys.Table))
		return
	}
	sets, verb := b.differing(mark), "bookmark %d: "
	if back := len(sets) == 0; back {
		if len(mark.before) == 0 {
			b.say(bookmarkInForce(slot))
			return
		}
		sets, verb = mark.before, "back from bookmark %d: "
	}
	var before []settings.Assignment
	var said []string
	for _, a := range sets {
		now := b.asked(a.Key)
		before = append(before, settings.Assignment{Key: a.Key, Value: now})
		said = append(said, b.nameOf(a.Key)+" "+b.textOf(a.Key, now)+" → "+b.textOf(a.Key, a.Value))
	}
	all, cut := b.wanted(), b.cutShort(keysIn(sets)...)
	if err := b.ask(sets...); err != nil {
		b.complain(fmt.Sprintf("bookmark %d was not applied: %v", slot, err))
		return
	}
	if verb == "bookmark %d: " {
		mark.before = before
	}
	b.sayChange(fmt.Sprintf(verb, slot)+strings.Join(said, ", ")+b.suspensions(all)+b.when(), cut)
}

// differing returns the bookmark's settings that are not in force, in the order of the table.
func (b *bookmarks) differing(from *bookmark) []settings.Assignment {
	var sets []settings.Assignment
	for _, k := range b.table.Keys() {
		if v, ok := from.values[k.Name]; ok && b.asked(k.Name) != v {
			sets = append(sets, settings.Assignment{Key: k.Name, Value: v})
		}
	}
	return slices.Clip(sets)
}
