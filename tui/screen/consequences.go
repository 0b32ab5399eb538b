package screen

import (
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/words"
)

// This file is what a change does besides: it ends the window of the change before it, which may
// have too few iterations for an effect, and another loss suspends the threshold.

// cutShort says, to follow a change of settings, which effect it leaves without enough
// iterations: in full and briefly; nil where there is none. It is asked before the change.
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
	if !cuts || !short || s.Index <= e.Iteration { // nothing ran under it: both take force together
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

// sayChange says what was changed, and which effect that cut short.
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

// keysIn are the keys of assignments.
func keysIn(sets []settings.Assignment) []string {
	keys := make([]string, len(sets))
	for i, a := range sets {
		keys[i] = a.Key
	}
	return keys
}

// suspended says whether the threshold that is asked for is for another loss than that
// which is asked for.
func (m *Model) suspended() bool {
	_, _, suspended := m.wanted().Suspended(words.ThresholdKey)
	return suspended
}

// thresholdText follows a change that suspends the threshold, or brings it back; before
// are the settings that were asked for until then.
func (m *Model) thresholdText(before settings.Values) string {
	_, _, was := before.Suspended(words.ThresholdKey)
	after := m.wanted()
	threshold := after.Number(words.ThresholdKey)
	switch given, now, is := after.Suspended(words.ThresholdKey); {
	case is && !was:
		given, now = words.LossNames(given, now)
		return fmt.Sprintf("; threshold %g was for %s: suspended until T sets one for %s", threshold, given, now)
	case was && !is && before.Number(words.ThresholdKey) == threshold:
		return fmt.Sprintf("; threshold %g is in force again", threshold)
	}
	return ""
}
