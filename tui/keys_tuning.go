package tui

import tea "charm.land/bubbletea/v2"

// tuningKeys are the keys of the settings that settingKeys leaves out, and what
// goes beyond one setting: the pane of all of them, undo, bookmarks, ablation.
var tuningKeys = []binding{
	{Binding: bind(",", "all settings", ","), short: "settings", rank: 3, run: does((*Model).toggleSettings)},
	{Binding: bind(".", "choose AMP, loss, pattern", "."), run: does(func(m *Model) { m.openPicker(picks) })},
	{Binding: bind("A", "ablation: start, stop", "A"), short: "ablate", rank: 4, run: does((*Model).toggleAblation)},
	{Binding: bind("u", "undo the last change", "u"), short: "undo", rank: 9, run: does((*Model).undo)},
	{Binding: bind("b", "bookmark, then 1-9", "b"), run: does((*Model).storeNext)},
	{Binding: bind("1-9", "apply a bookmark, or back", "1", "2", "3", "4", "5", "6", "7", "8", "9"), run: does(func(m *Model) { m.digit(int(m.pressed[0] - '0')) })},
	{Binding: bind("k", "next loss", "k"), run: nudges("loss", true)},
	{Binding: bind("K", "loss before", "K"), run: nudges("loss", false)},
	{Binding: bind("N", "normalised loss", "N"), run: nudges("normalize_loss", true)},
	{Binding: bind("W", "weight of L1", "W"), run: edits("composite_l1")},
	{Binding: bind("Y", "weight of L2", "Y"), run: edits("composite_l2")},
	{Binding: bind("V", "weight of SSIM", "V"), run: edits("composite_ssim")},
	{Binding: bind("t", "halve the threshold", "t"), run: nudges("threshold", false)},
	{Binding: bind("T", "double the threshold", "T"), run: nudges("threshold", true)},
	{Binding: bind("H", "learning rate's schedule", "H"), run: nudges("scheduler", true)},
	{Binding: bind("[", "halve iterations a cycle", "["), run: nudges("iterations", false)},
	{Binding: bind("]", "double them", "]"), run: nudges("iterations", true)},
	{Binding: bind("O", "cycles of a sample", "O"), run: edits("cycles")},
	{Binding: bind("j", "one sample less to do", "j"), run: nudges("max_samples", false)},
	{Binding: bind("J", "one sample more", "J"), run: nudges("max_samples", true)},
	{Binding: bind("Z", "limit of iterations", "Z"), run: edits("max_iterations")},
	{Binding: bind("X", "limit of seconds", "X"), run: edits("max_seconds")},
	{Binding: bind("G", "measurement cache's MiB", "G"), run: edits("measurement_cache_mb")},
	{Binding: bind("S", "shared spectrum", "S"), run: nudges("shared_spectrum", true)},
	{Binding: bind("F", "fused telescope", "F"), run: nudges("fused_telescope", true)},
	{Binding: bind("e", "leave out zeros, pruned FFT", "e"), run: nudges("pruned_fft", true)},
	{Binding: bind("y", "profile of the layers", "y"), run: nudges("layer_profile", true)},
	{Binding: bind("D", "device", "D"), run: does((*Model).otherDevice)},
}

func nudges(key string, up bool) func(*Model) tea.Cmd {
	return does(func(m *Model) { m.nudge(key, up) })
}

func edits(key string) func(*Model) tea.Cmd {
	return does(func(m *Model) { m.editSetting(key) })
}

// isDigit says whether a key names a bookmark.
func isDigit(key string) bool { return len(key) == 1 && key[0] >= '1' && key[0] <= '9' }
