package sim

import (
	"context"
	"fmt"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// This file changes the settings of a run between two iterations.

// base returns the user's settings: during an ablation, those that it will restore.
func (l *loop) base() settings.Values {
	if l.ablation != nil {
		return l.ablation.base
	}
	return l.settings
}

// set changes settings between two iterations: live settings of a continuing run before
// its next iteration, the others at its restart.
func (l *loop) set(cut context.Context, next settings.Values) error {
	before := l.base()
	now := before
	if !l.finished {
		now = before.WithLive(next)
	}
	l.setNext(next, now)
	changed := now.Differing(before)
	if len(changed) == 0 {
		return nil
	}
	besides := ""
	for _, key := range changed {
		besides += ", but " + key + " = " + now.Get(key)
	}
	l.endFork(changed[0] + " was changed")
	if err := l.leaveAblation(cut, changed[0]+" was changed", besides); err != nil {
		return err
	}
	return l.change(cut, now, false)
}

// setNext sets the settings for a restart, given the current ones of the run.
func (l *loop) setNext(next, now settings.Values) {
	differs := len(next.Differing(now)) > 0
	if differs || l.next != nil {
		l.run.stream.Next(next)
	}
	l.next = nil
	if differs {
		l.next = &next
	}
}

// change changes the live settings to those of next, all before the next
// iteration.
func (l *loop) change(cut context.Context, next settings.Values, ablating bool) error {
	changes := l.changesTo(next, ablating)
	if len(changes) == 0 {
		return nil
	}
	before := l.settings
	l.settings = next
	l.read()
	if err := l.work.Apply(cut, next); err != nil {
		return fmt.Errorf("%s = %s: %w", changes[0].Key, changes[0].After, err)
	}
	l.run.stream.Memory(l.work.Memory())
	l.list()
	l.judgeLayers()
	if before.On(settings.LayerProfile) != l.reads.layers {
		l.run.stream.Layers(nil, nil)
	}
	l.announce(changes)
	l.announceSuspended(before)
	return nil
}

// announceSuspended logs the numbers that have been suspended or are in force
// again.
func (l *loop) announceSuspended(before settings.Values) {
	for i := range l.settings.Keys() {
		k := &l.settings.Keys()[i]
		_, _, was := before.Suspended(k.Name)
		given, now, is := l.settings.Suspended(k.Name)
		switch {
		case is && !was:
			l.run.stream.Log(fmt.Sprintf("%s %g was given for %s and is suspended under %s: %s",
				k.Name, l.settings.Number(k.Name), given, now, k.Suspended))
		case was && !is:
			l.run.stream.Log(fmt.Sprintf("%s %g is in force for %s", k.Name, l.settings.Number(k.Name), l.settings.Of(k.Name)))
		}
	}
}

// changesTo lists the differences from the settings in force.
func (l *loop) changesTo(next settings.Values, ablating bool) []profiles.Change {
	var changes []profiles.Change
	at := time.Since(l.began)
	for _, key := range next.Differing(l.settings) {
		k, _ := next.Lookup(key)
		c := profiles.Change{
			Key: key, Before: l.settings.Get(key), After: next.Get(key), Iteration: l.index, At: at, Ablation: ablating, Limit: k.Limit,
		}
		if !ablating {
			c.Asked = max(0, l.asked.Sub(l.began))
		}
		if k.TouchesKnown {
			c.Controls = l.info.Schema.Controls(k.Touches)
		}
		changes = append(changes, c)
	}
	return changes
}

// announce publishes changes that led to the current settings.
func (l *loop) announce(changes []profiles.Change) {
	for _, c := range changes {
		l.changes++
		l.run.stream.Change(c, l.settings)
	}
}
