package terminal

import (
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// This file splits keys that arrive right after esc. Terminals send Alt with a key as esc and
// the key, so esc and a key pressed one after the other look like Alt with the key if a slow
// line delivers them together. No binding uses Alt, so they can be split.

// WithoutEsc returns a key without the esc before it, and whether there was one.
func WithoutEsc(k tea.KeyPressMsg) (rest tea.KeyPressMsg, escaped bool) {
	if k.Mod&^tea.ModShift != tea.ModAlt {
		return k, false
	}
	k.Mod &^= tea.ModAlt
	if k.Code > unicode.MaxRune || !unicode.IsPrint(k.Code) { // an arrow, tab
		return k, true
	}
	if k.Mod.Contains(tea.ModShift) && unicode.IsLetter(k.Code) {
		k.Text = string(unicode.ToUpper(k.Code))
	} else {
		k.Text = string(k.Code)
	}
	return k, true
}
