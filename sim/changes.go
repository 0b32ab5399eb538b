package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/workload"
)

// The settings of a run between two iterations: changed by the user or a comparison, refused by the task, or changed
// because the device failed.

// base returns the user's settings: during a comparison, those that it will restore.
func (l *loop) base() settings.Values {
	if c := l.comparing.now; c != nil {
		return c.Base()
	}
	return l.settings
}

// set changes settings between two iterations: live settings of a continuing run before
// its next iteration, the others at its restart. If decides is set, the change may be decided: see
// profiles.DecideCommand.
func (l *loop) set(cut context.Context, next settings.Values, decides bool) error {
	before := l.base()
	now := before
	if !l.finished {
		now = before.WithLive(next)
		next, now = l.withinLimits(before, next, now)
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
	if err := l.comparing.leave(cut, changed[0]+" was changed", besides); err != nil {
		return err
	}
	began := time.Now()
	if err := l.change(cut, now, false); err != nil || !decides || l.finished {
		return err
	}
	return l.comparing.decide(cut, before, time.Since(began))
}

// withinLimits returns requested settings, and those that they make of those before, with the old limits for new ones
// that would end the run at once: that is what stopping is for.
func (l *loop) withinLimits(before, next, now settings.Values) (asked, possible settings.Values) {
	asked, possible = next, now
	elapsed := l.running.before
	if !l.paused {
		elapsed = l.running.elapsed(time.Now())
	}
	reads := l.readOf(now)
	keys, wants := reads.passed(now.Differing(before), l.index, elapsed)
	for i, key := range keys {
		old := settings.Assignment{Key: key, Value: before.Get(key)}
		kept, err := asked.With(old)
		if err != nil {
			continue
		}
		l.run.withdraw(key, asked.Get(key), old)
		l.decline(fmt.Sprintf("%s stays %s: %s %s", key, old.Value, key, wants[i]))
		asked, possible = kept, before.WithLive(kept)
	}
	return asked, possible
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
	changes := l.changes.list(l.settings, next, l.index, ablating)
	if len(changes) == 0 {
		return nil
	}
	before := l.settings
	l.settings = next
	l.read()
	if err := l.apply(cut, next, ablating); err != nil {
		if workload.Refused(err) && cut.Err() == nil {
			return l.refuse(cut, before, changes, err, ablating)
		}
		l.settings = before // the change is made again if the run continues
		l.read()
		return fmt.Errorf("%s = %s: %w", changes[0].Key, changes[0].After, err)
	}
	l.list()
	l.judgeLayers()
	if before.On(settings.LayerProfile) != l.reads.layers {
		l.run.stream.Layers(nil, nil)
	}
	l.changes.publish(changes, l.settings, l.info.Device, l.work)
	l.run.stream.Memory(l.memory()) // after the changes that it is the result of
	l.moved("", 0)
	l.changes.suspended(before, l.settings)
	return nil
}

// apply has the task apply settings, those of an ablation so that they end with it.
func (l *loop) apply(cut context.Context, next settings.Values, ablating bool) error {
	if t, ok := l.work.(workload.Trier); ok && ablating {
		return t.Try(cut, next, l.base())
	}
	return l.work.Apply(cut, next)
}

// refuse returns to the settings before changes that the task refused.
func (l *loop) refuse(cut context.Context, before settings.Values, changes []profiles.Change, why error,
	ablating bool) error {
	l.settings = before
	l.read()
	c := &changes[0]
	text := fmt.Sprintf("%s stays %s: %v", c.Key, c.Before, why)
	if ablating {
		return l.comparing.stop(cut, text)
	}
	sets := make([]settings.Assignment, len(changes))
	for i := range changes {
		sets[i] = settings.Assignment{Key: changes[i].Key, Value: changes[i].Before}
	}
	l.run.insist(sets)
	l.decline(text)
	return nil
}

// forced takes over settings that the task put in force by itself. They end a comparison.
func (l *loop) forced(cut context.Context, v *settings.Values) error {
	if v == nil || len(l.changes.list(l.base(), *v, l.index, false)) == 0 {
		return nil
	}
	if err := l.comparing.stop(cut, "the loop was started again"); err != nil {
		return err
	}
	var sets []settings.Assignment
	for _, key := range v.Differing(l.settings) {
		sets = append(sets, settings.Assignment{Key: key, Value: v.Get(key)})
	}
	l.run.insist(sets)
	l.adopt(*v, false)
	return nil
}

// insist changes what is asked of the run to what is possible.
func (r *Run) insist(sets []settings.Assignment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if next, err := r.wanted.With(sets...); err == nil {
		r.wanted = next.Settled()
	}
	for i := range r.commands {
		c := &r.commands[i]
		if next, err := c.values.With(sets...); c.sets() && err == nil {
			c.values = next.Settled()
		}
	}
}

// withdraw takes back a value that is asked of the run; one that was asked for later stays.
func (r *Run) withdraw(key, value string, old settings.Assignment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	take := func(v *settings.Values) {
		if v.Get(key) != value {
			return
		}
		if kept, err := v.With(old); err == nil {
			*v = kept.Settled()
		}
	}
	take(&r.wanted)
	for i := range r.commands {
		if c := &r.commands[i]; c.sets() {
			take(&c.values)
		}
	}
}

// want changes what is asked of the run, for a change that the loop makes by itself. It changes nothing
// and returns false if a change by the user waits, which overrules it.
func (r *Run) want(sets ...settings.Assignment) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, err := r.wanted.With(sets...)
	if err != nil || r.asking > 0 {
		return false
	}
	r.wanted = next
	return true
}

// answered counts a change by the user that is being carried out.
func (r *Run) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking--
}

// cardOf returns the model of a GPU; empty for other devices.
func cardOf(d workload.Device) string {
	if c, ok := d.(interface{ Card() string }); ok {
		return c.Card()
	}
	return ""
}

// moved publishes the device of the task if it is another one than before, which failed as described, with the number
// of units that are trained again for it, or did not if that is empty.
func (l *loop) moved(failed string, again int) {
	device := l.work.Device()
	if device == nil {
		return
	}
	m := profiles.Moved{Device: device.Device(), Kernels: device.Kernels(), Card: cardOf(device), Failed: failed,
		Again: again}
	if m.Device == l.info.Device && m.Kernels == l.info.Kernels && m.Card == l.info.Card && failed == "" {
		return
	}
	m.Cautions = l.work.Info().Cautions
	l.info.Move(&m)
	l.run.stream.Moved(m)
	if t, ok := l.work.(workload.Remarker); ok {
		for _, text := range t.Remarks() {
			l.run.stream.Log(text)
		}
	}
}

// mend lets a run continue on another device after an error of its own. It returns other errors.
func (l *loop) mend(cut context.Context, err error) error {
	task, ok := l.work.(workload.Recoverer)
	if err == nil || !ok || cut.Err() != nil || errors.Is(err, workload.ErrDiverged) {
		return err
	}
	sets, ok := task.Fallback(err, l.base())
	if !ok {
		return err
	}
	l.endFork("the device failed")
	l.comparing.abandon("the device failed")
	next, wrong := l.settings.With(sets...)
	if wrong != nil {
		return err
	}
	changes := l.changes.list(l.settings, next, l.index, false)
	from, wrong := task.Recover(cut, next)
	if wrong != nil {
		return errors.Join(err, wrong)
	}
	again := l.units.undo(from.Unit)
	l.index = max(l.index, l.recorded)
	for i := range changes {
		changes[i].Iteration = l.index
	}
	l.settings = next
	l.read()
	l.run.insist(sets)
	l.judgeLayers()
	l.run.stream.Layers(nil, nil)
	l.changes.publish(changes, l.settings, l.info.Device, l.work)
	l.run.stream.Memory(l.memory())
	text := fmt.Sprintf("%v: continuing on the CPU from the newest copy of the weights; %s lost", err,
		unit.Plural(int(from.Lost), "iteration", "iterations"))
	l.moved(text, again)
	l.run.stream.Refuse(text)
	return nil
}
