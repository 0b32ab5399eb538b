package effect

import (
	"fmt"
	"slices"

	"prismtop/profiles"
)

// limits follows changes of settings that say when a sample or the run ends
// (profiles.Change.Limit). They change nothing in an iteration, so they have no effect and
// leave what is being measured alone.
type limits struct {
	inForce []profiles.Change // the newest maxChanges
	waiting []profiles.Change // for their iteration
}

// change announces c. Of several changes of one setting before the same iteration one is
// left, from the first value to the last, and none where those are the same.
func (l *limits) change(c profiles.Change) {
	i := slices.IndexFunc(l.waiting, func(w profiles.Change) bool { return w.Key == c.Key && w.Iteration == c.Iteration })
	if i < 0 {
		l.waiting = append(l.waiting, c)
		l.waiting = l.waiting[max(0, len(l.waiting)-maxChanges):]
		return
	}
	if l.waiting[i].After = c.After; l.waiting[i].After == l.waiting[i].Before {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// until puts the changes up to an iteration in force, and tells the log of them.
func (l *limits) until(index int64) (told []profiles.LogLine) {
	n := 0
	for n < len(l.waiting) && l.waiting[n].Iteration <= index {
		c := &l.waiting[n]
		told = append(told, profiles.LogLine{At: c.At, Text: fmt.Sprintf("%s %s → %s from iteration %d on", c.Key, c.Before, c.After, c.Iteration)})
		n++
	}
	if n > 0 {
		l.inForce = append(l.inForce, l.waiting[:n]...)
		l.inForce = l.inForce[max(0, len(l.inForce)-maxChanges):]
		l.waiting = slices.Delete(l.waiting, 0, n)
	}
	return told
}

// list is all changes, oldest first.
func (l *limits) list() []profiles.Change { return slices.Concat(l.inForce, l.waiting) }
