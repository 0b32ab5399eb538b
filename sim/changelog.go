package sim

import (
	"fmt"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/workload"
)

// changeLog publishes the changes of a run's settings, numbered from its start. At the boundary it reads settings
// before and after a change, and changes nothing.
type changeLog struct {
	stream *stream.Stream
	schema *profiles.Schema
	began  time.Time // of the start
	asked  time.Time // when the newest change by the user was asked for
	count  uint32    // those of the start so far
}

// list lists the differences between the settings in force and the next ones.
func (c *changeLog) list(now, next settings.Values, index int64, ablating bool) []profiles.Change {
	var changes []profiles.Change
	at := time.Since(c.began)
	for _, key := range next.Differing(now) {
		k, _ := next.Lookup(key)
		change := profiles.Change{Key: key, Before: now.Get(key), After: next.Get(key), Iteration: index, At: at,
			Ablation: ablating, Limit: k.Limit}
		if !ablating {
			change.Asked = max(0, c.asked.Sub(c.began))
		}
		if k.TouchesKnown {
			change.Controls = c.schema.Controls(k.Touches)
		}
		changes = append(changes, change)
	}
	return changes
}

// publish publishes changes that led to settings, given the device before them and the task that has the one after.
func (c *changeLog) publish(changes []profiles.Change, now settings.Values, before string, work workload.Task) {
	for _, change := range changes {
		c.count++
		if change.Key == settings.Device {
			change = meant(change, before, work.Device())
		}
		c.stream.Change(change, now)
	}
}

// meant returns a change of the device with the devices that auto stands for, unless they are equal.
func meant(c profiles.Change, was string, now workload.Device) profiles.Change {
	before, after := c.Before, c.After
	if before == "auto" && was != "" {
		before = was
	}
	if after == "auto" && now != nil {
		after = now.Device()
	}
	if before != after {
		c.Before, c.After = before, after
	}
	return c
}

// suspended logs the numbers that have been suspended by a change from settings, or are in force again.
func (c *changeLog) suspended(before, now settings.Values) {
	for i := range now.Keys() {
		k := &now.Keys()[i]
		_, _, was := before.Suspended(k.Name)
		given, other, is := now.Suspended(k.Name)
		switch {
		case is && !was:
			c.stream.Log(fmt.Sprintf("%s %g was given for %s and is suspended under %s: %s", k.Name,
				now.Number(k.Name), given, other, k.Suspended))
		case was && !is:
			c.stream.Log(fmt.Sprintf("%s %g is in force for %s", k.Name, now.Number(k.Name), now.Of(k.Name)))
		}
	}
}
