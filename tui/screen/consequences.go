package screen

import (
	"cmp"
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/words"
)

// This file reports side effects of a change: it ends the window of the previous change, possibly
// with too few iterations for an effect, and changing the loss suspends the threshold.

// cutShort names the effect that a change of settings would leave with too few iterations, in
// versions from longest to shortest, to be appended to the message; nil if there is none. It must
// be called before the change.
func (m *Model) cutShort(keys ...string) []string {
	s := m.snap
	if s == nil || words.Ended(s.State) || len(s.Effects) == 0 {
		return nil
	}
	cuts := false
	for _, key := range keys {
		k, ok := s.Settings.Lookup(key)
		cuts = cuts || ok && k.Live && !k.Limit
	}
	e := &s.Effects[len(s.Effects)-1]
	had, short := e.CutShort()
	if !cuts || !short || s.Index <= e.Iteration { // no iteration ran with it: both take effect together
		return nil
	}
	name := m.nameOf(e.Key)
	if more := len(e.With); more > 0 {
		name = fmt.Sprintf("%s + %d more", name, more)
	}
	owner := name + "'s"
	if strings.HasSuffix(name, "s") {
		owner = name + "'"
	}
	return []string{
		fmt.Sprintf("; %s effect had %d of %d iterations", owner, had, profiles.EffectEnough),
		fmt.Sprintf("; %s had %d of %d iterations", name, had, profiles.EffectEnough),
		fmt.Sprintf("; %s had %d of %d", name, had, profiles.EffectEnough),
	}
}

// sayChange shows what was changed and which effect was cut short.
func (m *Model) sayChange(text string, cut []string) {
	if len(cut) == 0 {
		m.say(text)
		return
	}
	texts := make([]string, len(cut))
	for i, c := range cut {
		texts[i] = text + c
	}
	m.sayOne(texts...)
}

// keysIn returns the keys of assignments.
func keysIn(sets []settings.Assignment) []string {
	keys := make([]string, len(sets))
	for i, a := range sets {
		keys[i] = a.Key
	}
	return keys
}

// suspended reports whether the requested number was given for a state of other settings than the
// requested one, such as a threshold for another loss.
func (m *Model) suspended(key string) bool {
	_, _, suspended := m.wanted().Suspended(key)
	return suspended
}

// suspensions returns text to append to a change that suspends or restores a number; before holds
// the requested settings before the change.
func (m *Model) suspensions(before settings.Values) (text string) {
	after := m.wanted()
	for _, key := range m.keys.table.Dependent() {
		_, _, was := before.Suspended(key)
		number := after.Number(key)
		switch given, now, is := after.Suspended(key); {
		case is && !was:
			given, now = words.LossNames(given, now)
			text += fmt.Sprintf("; %s %g was for %s: suspended until %s sets one for %s", m.nameOf(key), number, given,
				cmp.Or(m.keys.keyOf(profiles.Action("set "+key)), m.keys.keyOf(profiles.Action("raise "+key)), ","), now)
		case was && !is && before.Number(key) == number:
			text += fmt.Sprintf("; %s %g is in force again", m.nameOf(key), number)
		}
	}
	return text
}
