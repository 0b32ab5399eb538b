package tui

import (
	"slices"

	"prismtop/profiles/preset"
)

// tuningKeys are what goes beyond one setting (the pane of all of them, undo, bookmarks,
// ablation) and the keys of the settings that settingKeys leaves out.
var tuningKeys = slices.Concat([]binding{
	{Binding: bind(",", "all settings", ","), short: "settings", rank: 3, run: does((*Model).toggleSettings)},
	{Binding: bind(".", "choose AMP, loss, pattern", "."), run: does(func(m *Model) { m.openPicker(picks) }), action: "choose amp"},
	{Binding: bind("A", "ablation: start, stop", "A"), short: "ablate", rank: 4, run: does((*Model).toggleAblation), action: "ablate"},
	{Binding: bind("u", "undo the last change", "u"), short: "undo", rank: 9, run: does((*Model).undo)},
	{Binding: bind("b", "bookmark, then 1-9", "b"), run: does((*Model).storeNext)},
	{Binding: bind("1-9", "apply a bookmark, or back", "1", "2", "3", "4", "5", "6", "7", "8", "9"), run: does(func(m *Model) { m.digit(int(m.pressed[0] - '0')) })},
}, pressesOf(func(p preset.Press) bool { return p.Tuning }), []binding{
	{Binding: bind("D", "device", "D"), run: does((*Model).otherDevice)},
})

// isDigit says whether a key names a bookmark.
func isDigit(key string) bool { return len(key) == 1 && key[0] >= '1' && key[0] <= '9' }
