package screen

import (
	"strings"

	"prismtop/profiles/settings"
)

// history holds the changes of settings that can be undone, oldest first. It lasts as long
// as the screen, and therefore survives a restart of the run.
type history struct{ steps []undoStep }

// flip is the change of one setting in a request.
type flip struct{ key, before, after string }

// undoStep is the changes of one request.
type undoStep []flip

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

// drop removes the newest steps all of whose changes are void.
func (h *history) drop(void func(flip) bool) {
	for n := len(h.steps); n > 0; n-- {
		for _, f := range h.steps[n-1] {
			if !void(f) {
				return
			}
		}
		h.steps = h.steps[:n-1]
	}
}

// undo requests the settings before the last change that has not been undone yet.
func (t *tuning) undo() {
	t.history.drop(func(f flip) bool { return t.asked(f.key) == f.before }) // the run refused them
	n := len(t.history.steps)
	if n == 0 {
		t.say(nothingToUndo)
		return
	}
	last := t.history.steps[n-1]
	var sets []settings.Assignment
	for _, f := range last {
		sets = append(sets, settings.Assignment{Key: f.key, Value: f.before})
	}
	all := t.wanted()
	from := make([]string, len(last))
	for i, f := range last {
		from[i] = t.asked(f.key)
	}
	cut := t.cutShort(keysIn(sets)...)
	if err := t.request(sets, false); err != nil {
		t.complain("not undone: " + err.Error())
		return
	}
	t.history.steps = t.history.steps[:n-1]
	var said, keys []string
	for i, f := range last {
		keys = append(keys, f.key)
		said = append(said, t.nameOf(f.key)+" "+t.textOf(f.key, from[i])+" → "+t.textOf(f.key, f.before))
	}
	t.sayChange("undone: "+strings.Join(said, ", ")+t.suspensions(all)+t.when(keys...), cut)
}
