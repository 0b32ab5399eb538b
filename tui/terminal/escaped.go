package terminal

import (
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// This file is keys that come right behind esc. Terminals send Alt with a key as esc
// and the key, so of the two pressed one after the other a slow line, which hands
// both over at once, makes one. No key of the tables is one with Alt: they are told
// apart again.

// WithoutEsc is a key without the esc before it, and whether there was one.
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
