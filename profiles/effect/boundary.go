package effect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/unit"
)

// boundary is the set of changes between two iterations: settings that take effect
// together, however many keys were pressed, and have one joint effect.
type boundary struct {
	iteration int64 // the first iteration under the new values
	at        time.Duration
	settings  []profiles.Change // one for each setting, from its first value to its last
	count     int               // of changes
	quality   float64           // the newest value when the first change was made, NaN for none
	held      memory            // likewise
}

// add adds a change. Repeated changes of a setting are merged.
func (b *boundary) add(c profiles.Change) {
	b.count++
	b.put(c)
}

func (b *boundary) put(c profiles.Change) {
	for i := range b.settings {
		if s := &b.settings[i]; s.Key == c.Key {
			s.After = c.After
			return
		}
	}
	b.settings = append(b.settings, c)
}

// join merges a later boundary, from whose iteration on both are in force.
func (b *boundary) join(later *boundary) {
	b.count += later.count
	for _, c := range later.settings {
		b.put(c)
	}
	b.iteration, b.at = later.iteration, later.at
	for i := range b.settings {
		b.settings[i].Iteration, b.settings[i].At = b.iteration, b.at
	}
}

// net lists the settings whose values differ from before.
func (b *boundary) net() []profiles.Change {
	net := make([]profiles.Change, 0, len(b.settings))
	for _, c := range b.settings {
		if !same(c.Key, c.Before, c.After) {
			net = append(net, c)
		}
	}
	return net
}

// same reports whether two values of a setting are equivalent: 0 threads means one per
// processor.
func same(key, before, after string) bool {
	meant := func(value string) string {
		if key == "threads" && value == "0" {
			return strconv.Itoa(machine.Processors())
		}
		return value
	}
	return meant(before) == meant(after)
}

// effect returns the effect of a boundary at which something changed, before any
// iteration after it.
func (b *boundary) effect() profiles.Effect {
	net := b.net()
	return profiles.Effect{Change: net[0], With: slices.Clip(net[1:]), Needed: profiles.EffectEnough}
}

// undone reports that nothing changed in the end.
func (b *boundary) undone() string {
	keys := make([]string, len(b.settings))
	for i, c := range b.settings {
		keys[i] = c.Key
	}
	is := "is"
	if len(keys) > 1 {
		is = "are"
	}
	return fmt.Sprintf("%s %s as before from iteration %d on, after %s: no effect to measure",
		strings.Join(keys, ", "), is, b.iteration, unit.Plural(b.count, "change", "changes"))
}
