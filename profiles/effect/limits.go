package effect

import (
	"fmt"
	"slices"

	"prismtop/profiles"
)

// limits tracks changes of settings that determine when a sample or the run ends
// (profiles.Change.Limit). They do not affect an iteration, so they have no effect and do
// not interrupt a measurement.
type limits struct {
	inForce []profiles.Change // the newest maxChanges
	waiting []profiles.Change // for their iteration
}

// change announces c. Several changes of one setting before the same iteration are
// merged into one, from the first value to the last, or none if those are equal.
func (l *limits) change(c profiles.Change) {
	i := slices.IndexFunc(l.waiting, func(w profiles.Change) bool {
		return w.Key == c.Key &&
			w.Iteration == c.Iteration
	})
	if i < 0 {
		l.waiting = append(l.waiting, c)
		l.waiting = l.waiting[max(0, len(l.waiting)-maxChanges):]
		return
	}
	if l.waiting[i].After = c.After; l.waiting[i].After == l.waiting[i].Before {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// until applies the changes up to an iteration and logs them.
func (l *limits) until(index int64) (told []profiles.LogLine) {
	n := 0
	for n < len(l.waiting) && l.waiting[n].Iteration <= index {
		c := &l.waiting[n]
		told = append(told, profiles.LogLine{At: c.At, Text: fmt.Sprintf("%s %s → %s from iteration %d on", c.Key,
			c.Before, c.After, c.Iteration)})
		n++
	}
	if n > 0 {
		l.inForce = append(l.inForce, l.waiting[:n]...)
		l.inForce = l.inForce[max(0, len(l.inForce)-maxChanges):]
		l.waiting = slices.Delete(l.waiting, 0, n)
	}
	return told
}

// list returns all changes, oldest first.
func (l *limits) list() []profiles.Change { return slices.Concat(l.inForce, l.waiting) }
