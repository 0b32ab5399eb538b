package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
)

// NewReplication switches a change back and forth until its effect on the time of an iteration is decided. undone
// holds the changed settings with their previous values, and iteration is where the change took effect. A change
// that is no longer in force, or cannot be reverted, is an error. If undone has every optimisation that saves time
// off, all of them are switched, from off to on, whatever the settings in force are, and
// with them mixed precision if it is in force.
func NewReplication(base settings.Values, schema *profiles.Schema, undone []settings.Assignment,
	iteration int64) (*Comparison, error) {
	after, everything := base, EverythingOn(base.Table(), undone)
	if p := base.Table().Roles().Precision; p != "" && everything != nil {
		undone = append(slices.Clone(undone), settings.Assignment{Key: p, Value: "off"})
	}
	before, err := base.With(undone...)
	if err == nil && everything != nil {
		after, err = base.With(everything...)
	}
	for _, v := range []settings.Values{before, after} {
		if err == nil {
			err = v.Validate()
		}
	}
	if err == nil && len(after.Differing(before)) == 0 {
		err = errors.New("the settings are as they were before that change")
	}
	if err != nil {
		return nil, err
	}
	change := pairing(before, after)
	if everything != nil {
		change.Key, change.Off, change.On = profiles.Everything, "off", "on"
	}
	return replicate(base, schema, "replication of "+change.Key+" began", change, iteration, 0), nil
}

// EverythingOn returns the values of every optimisation that saves time, on, if undone has all of them, off; else nil.
func EverythingOn(t *settings.Table, undone []settings.Assignment) []settings.Assignment {
	off, on := t.Everything()
	if len(off) > 1 && slices.Equal(off, undone) {
		return on
	}
	return nil
}

// decisionTime returns how long a decision may take where an iteration takes so long: DecisionTime, or what its first
// look needs, in groups of four blocks; 0 if nobody would wait for that.
func decisionTime(iteration time.Duration) time.Duration {
	first := ablation.DecisionLooks[0] * 4 * (profiles.DecisionWarmup + profiles.DecisionLeast)
	if needs := time.Duration(first) * iteration; needs <= profiles.DecisionLongest {
		return max(profiles.DecisionTime, needs)
	}
	return 0
}

// Extended says that a decision may take longer than its table before allowed; "" if it may not.
func Extended(before, now *profiles.Ablation) string {
	if !now.Decides() || now.Within <= before.Within {
		return ""
	}
	return fmt.Sprintf("%s: deciding takes up to %.0f s, because iterations with the change take longer",
		now.Rows[0].Key, now.Within.Seconds())
}

// slowSwitch is the longest time of a switch that is made again and again for a decision.
const slowSwitch = profiles.DecisionTime / 50

// Press is a change that a key has just made.
type Press struct {
	Before, After settings.Values
	Took          time.Duration // of the change
	Iteration     time.Duration // that one takes
}

// NewDecision is NewReplication for a press, for a time at most, which is said if it is long. It returns nil if the
// settings do not ask for one, or if it would take too long: the effect is then that of the iterations before and after
// the change.
func NewDecision(schema *profiles.Schema, p Press, iteration int64) *Comparison {
	changed := p.After.Differing(p.Before)
	switch {
	case p.After.Get(settings.Decide) != settings.DecideAuto, !p.After.Table().Revertible(changed...),
		len(changed) == 0:
		return nil
	case p.Took > slowSwitch:
		return nil
	}
	within, began := decisionTime(p.Iteration), ""
	switch {
	case within == 0:
		return nil
	case within > profiles.DecisionTime:
		began = fmt.Sprintf("%s: deciding takes up to %.0f s, because an iteration takes %.0f ms",
			strings.Join(changed, ", "), within.Seconds(), 1e3*p.Iteration.Seconds())
	}
	return replicate(p.After, schema, began, pairing(p.Before, p.After), iteration, within)
}

// pairing describes the settings before and after a change.
func pairing(before, after settings.Values) ablation.Pairing {
	keys, off, on := differences(before, after)
	return ablation.Pairing{Key: keys, Off: off, On: on, Before: before, After: after}
}

// replicate switches between the settings of a change, for a time at most, 0 for no limit.
func replicate(base settings.Values, schema *profiles.Schema, began string, change ablation.Pairing, iteration int64,
	within time.Duration) *Comparison {
	return Compare(base, began, func() Schedule {
		return ablation.Replicate(base, change, iteration, optionsFor(schema, ablation.Options{Within: within}))
	})
}

// differences lists the keys of a change, with their values before and after it.
func differences(before, after settings.Values) (keys, was, is string) {
	var off, on []string
	changed := after.Differing(before)
	for _, key := range changed {
		off, on = append(off, before.Get(key)), append(on, after.Get(key))
	}
	return strings.Join(changed, ", "), strings.Join(off, ", "), strings.Join(on, ", ")
}
