package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/checklist"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/sim/ablation"
	"prismtop/sim/workload"
)

// The ablation of a run: it switches settings between iterations as the schedule
// requires, and restores them however it ends.

// StartAblation starts comparing every switchable optimisation on and off at the
// next iteration boundary. The ablation ends by itself, by StopAblation, or with
// anything that changes what is compared: a setting, a restart, the end of the
// run. The settings are then restored.
func (r *Run) StartAblation() error { return r.Ablate(ablation.Options{}) }

// StartFactorial starts running every combination of factors, like StartAblation. It is an error if
// the settings or this machine cannot take one of them.
func (r *Run) StartFactorial(factors []settings.Factor) error {
	if len(factors) == 0 {
		return errNoFactors
	}
	return r.Ablate(ablation.Options{Factors: factors})
}

// Ablate is StartAblation with options, or StartFactorial if they have factors.
func (r *Run) Ablate(o ablation.Options) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended():
		return errEnded
	case r.over.Load():
		return errAblateOver
	}
	if err := r.accepts(r.started.WithLive(r.wanted), o.Factors); err != nil {
		return err
	}
	r.queue(command{kind: ablateCommand, ablation: o})
	return nil
}

// accepts returns an error if base or this machine cannot take a combination of factors.
func (r *Run) accepts(base settings.Values, factors []settings.Factor) error {
	if len(factors) == 0 {
		return nil
	}
	combinations, err := ablation.Combinations(base, factors)
	if err != nil {
		return err
	}
	for _, v := range combinations {
		for _, f := range factors {
			for _, a := range f.On {
				if err := r.options.Maker.Check(v, a.Key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Replicate starts switching a change back and forth until its effect on iteration time is
// decided. before holds the changed settings with their previous values, and iteration is where
// the change took effect. It ends in the same ways as StartAblation. If before has every optimisation that
// saves time off, all of them are switched, from off to on, whatever the settings in force are.
func (r *Run) Replicate(before []settings.Assignment, iteration int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended():
		return errEnded
	case r.over.Load():
		return errAblateOver
	}
	if base, err := r.started.WithLive(r.wanted).With(everythingOn(r.wanted.Table(), before)...); err == nil {
		for _, a := range everythingOn(r.wanted.Table(), before) {
			if err := r.options.Maker.Check(base, a.Key); err != nil {
				return fmt.Errorf("not everything can be on: %w", err)
			}
		}
	}
	r.queue(command{kind: replicateCommand, before: before, iteration: iteration})
	return nil
}

// StopAblation ends an ablation, a replication or a fork and keeps its results.
func (r *Run) StopAblation() { r.send(command{kind: stopAblationCommand}) }

var (
	errAblateOver = errors.New("an ablation needs iterations, and the run is over; restart it first")
	errNoFactors  = fmt.Errorf("no settings: a factorial ablation needs %d to %d", settings.LeastFactors, settings.MostFactors)
)

// schedule decides which settings an ablation runs, and evaluates its times.
type schedule interface {
	// Done reports whether the ablation is over, and End ends it for a reason.
	Done() bool
	End(why string)
	// Wanted returns the settings for the next iteration, and Add takes its measurements. It
	// returns true if Look must be called before the next one, with the quality of the result and
	// the memory of the run.
	Wanted() settings.Values
	Add(it *profiles.Iteration) (look bool)
	Look(quality float64, memory profiles.Memory)
	// View returns the table so far.
	View() *profiles.Ablation
}

// trial is an ablation under way.
type trial struct {
	schedule schedule
	base     settings.Values   // restored at the end
	table    profiles.Ablation // as last published
}

// Ablation returns the newest table, nil before the first. Only the goroutine that calls
// Next may call it.
func (r *Run) Ablation() *profiles.Ablation { return r.loop.table }

// publish publishes the current table.
func (l *loop) publish(t *trial) {
	v := t.schedule.View()
	t.table = *v
	l.show(v)
}

// show publishes a table.
func (l *loop) show(v *profiles.Ablation) {
	l.table = v
	l.run.stream.Ablation(v)
}

// end ends the trial and returns its last table, or the last published one if the
// schedule cannot make another.
func (t *trial) end(why string) (last *profiles.Ablation) {
	before := t.table
	before.Running, before.Now, before.Ended = false, -1, why
	before.Rows = slices.Clone(before.Rows) // published tables may still be read
	for i := range before.Rows {
		before.Rows[i].Final = true
	}
	if before.Factorial != nil {
		table := *before.Factorial
		table.Final = true
		before.Factorial = &table
	}
	last = &before
	defer func() { _ = recover() }()
	t.schedule.End(why)
	return t.schedule.View()
}

// protect calls code that only the ablation needs. A panic in it ends the ablation, not the run.
func (l *loop) protect(cut context.Context, do func(*trial)) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = l.stopAblation(cut, fmt.Sprintf("it panicked: %v", v))
		}
	}()
	do(l.ablation)
	return nil
}

// startAblation starts an ablation unless one is under way.
func (l *loop) startAblation(cut context.Context, o ablation.Options) error {
	if err := l.makeWay(cut); err != nil || l.ablation != nil || l.finished {
		return err
	}
	l.ablation = &trial{base: l.settings}
	l.run.stream.Log(beginning(o))
	return l.protect(cut, func(t *trial) {
		o.Kinds, o.Quality, o.Items = l.info.Schema.Kinds, l.info.Schema.QualityInfo(), l.items()
		if o.Seed == 0 {
			o.Seed = rand.Uint64()
		}
		if len(o.Factors) > 0 {
			t.schedule = ablation.NewFactorial(t.base, o)
		} else {
			t.schedule = ablation.New(t.base, o)
		}
		l.publish(t)
	})
}

// beginning is the line of the log about an ablation's start.
func beginning(o ablation.Options) string {
	if len(o.Factors) == 0 {
		return "ablation began"
	}
	names := make([]string, len(o.Factors))
	for i, f := range o.Factors {
		names[i] = f.Name
	}
	return "factorial ablation of " + strings.Join(names, ", ") + " began"
}

// decisionNeeds is the number of iterations that the shortest decision with a verdict takes, in groups of four blocks.
const decisionNeeds = stats.SignedRankLeast * 4 * (profiles.DecisionWarmup + profiles.DecisionLeast)

// slowSwitch is the longest time of a switch that is made again and again for a decision.
const slowSwitch = profiles.DecisionTime / 50

// decide starts the decision on a change from before that was just made and took a time, if the settings ask for it and
// it can be made within its time: where it cannot, the effect is that of the iterations before and after the change.
func (l *loop) decide(cut context.Context, before settings.Values, changed []string, took time.Duration) error {
	iteration := time.Duration(l.rec.Total)
	switch {
	case l.settings.Get(settings.Decide) != settings.DecideAuto, !l.settings.Table().Revertible(changed...), len(l.settings.Differing(before)) == 0:
		return nil
	case l.paused, l.index == 0, took > slowSwitch, decisionNeeds*iteration > profiles.DecisionTime:
		return nil
	}
	return l.replicate(cut, before, l.settings, false, l.index, profiles.DecisionTime)
}

// stopDeciding ends a decision, if one is under way; other comparisons go on.
func (l *loop) stopDeciding(cut context.Context, why string) error {
	if l.ablation == nil || !l.ablation.table.Decides() {
		return nil
	}
	return l.stopAblation(cut, why)
}

// startReplication starts a replication unless an ablation is under way. It refuses a change that
// is no longer in force or cannot be reverted.
func (l *loop) startReplication(cut context.Context, c command) error {
	if err := l.makeWay(cut); err != nil || l.ablation != nil || l.finished {
		return err
	}
	before, err := l.settings.With(c.before...)
	after, everything := l.settings, everythingOn(l.settings.Table(), c.before)
	if err == nil && everything != nil {
		after, err = l.settings.With(everything...)
	}
	for _, v := range []settings.Values{before, after} {
		if err == nil {
			err = v.Validate()
		}
	}
	switch {
	case err != nil:
		l.run.stream.Refuse("not replicated: " + err.Error())
		return nil
	case len(after.Differing(before)) == 0:
		l.run.stream.Refuse("not replicated: the settings are as they were before that change")
		return nil
	}
	return l.replicate(cut, before, after, everything != nil, c.iteration, 0)
}

// replicate starts switching between the settings before a change and after it, for a time at most, 0 for no limit. The
// settings in force return when it ends. all is set if the change is that of every optimisation that saves time.
func (l *loop) replicate(cut context.Context, before, after settings.Values, all bool, iteration int64, within time.Duration) error {
	var off, on []string
	changed := after.Differing(before)
	for _, key := range changed {
		off, on = append(off, before.Get(key)), append(on, after.Get(key))
	}
	change := ablation.Pairing{Key: strings.Join(changed, ", "), Off: strings.Join(off, ", "), On: strings.Join(on, ", "), Before: before, After: after}
	if all {
		change.Key, change.Off, change.On = checklist.Everything, "off", "on"
	}
	l.ablation = &trial{base: l.settings}
	if within == 0 {
		l.run.stream.Log("replication of " + change.Key + " began")
	}
	return l.protect(cut, func(t *trial) {
		t.schedule = ablation.Replicate(t.base, change, iteration, ablation.Options{
			Kinds: l.info.Schema.Kinds, Quality: l.info.Schema.QualityInfo(), Items: l.items(), Seed: rand.Uint64(), Within: within,
		})
		l.publish(t)
	})
}

// everythingOn returns the values of every optimisation that saves time, on, if before has all of them, off; else nil.
func everythingOn(t *settings.Table, before []settings.Assignment) []settings.Assignment {
	off, on := t.Everything()
	if len(off) > 1 && slices.Equal(off, before) {
		return on
	}
	return nil
}

// makeWay ends a decision, which makes way for a comparison that is asked for, and one that is over.
func (l *loop) makeWay(cut context.Context) error {
	if err := l.leaveDone(cut); err != nil {
		return err
	}
	return l.stopDeciding(cut, "another comparison was asked for")
}

// stopAblation ends an ablation, if one is under way, and restores the settings, also if its schedule has
// just chosen others.
func (l *loop) stopAblation(cut context.Context, why string) error {
	return l.leaveAblation(cut, why, "")
}

// leaveAblation is stopAblation for a change made by the user.
func (l *loop) leaveAblation(cut context.Context, why, besides string) error {
	t := l.ablation
	if t == nil {
		return nil
	}
	l.ablation = nil
	last := t.end(why)
	if _, chose := t.chosen(); chose {
		last.Ended, last.Tuning.Chosen = last.Ended+"; not adopted: "+why, 0
	}
	return l.restore(cut, t.base, last, besides)
}

// restore shows the last table of an ablation and restores the settings.
func (l *loop) restore(cut context.Context, base settings.Values, last *profiles.Ablation, besides string) error {
	l.show(last)
	l.run.stream.Log(ending(last, besides))
	return l.change(cut, base, true)
}

// ending is the line of the log about an ablation's end.
func ending(last *profiles.Ablation, besides string) string {
	if last.Decides() {
		return last.Decided()
	}
	return last.Name() + " ended: " + last.Ended + "; the settings are as before" + besides
}

// endAblation ends an ablation, if one is under way, with the settings that its schedule has chosen, or
// with those of before.
func (l *loop) endAblation(cut context.Context, why string) error {
	t := l.ablation
	if t == nil {
		return nil
	}
	chosen, ok := t.chosen()
	if !ok {
		return l.stopAblation(cut, why)
	}
	l.ablation = nil
	return l.adopt(cut, t.base, chosen, t.end(why))
}

// abandonAblation ends an ablation together with its run. No iteration follows, so the
// restored settings are only published.
func (l *loop) abandonAblation(why string) {
	t := l.ablation
	if t == nil {
		return
	}
	l.ablation = nil
	last := t.end(why)
	l.show(last)
	l.run.stream.Log(ending(last, ""))
	changes := l.changesTo(t.base, true)
	l.settings = t.base
	l.read()
	l.announce(changes)
}

// leaveDone ends an ablation whose schedule is over.
func (l *loop) leaveDone(cut context.Context) error {
	if l.ablation == nil || l.ablation.schedule == nil || !l.ablation.schedule.Done() {
		return nil
	}
	return l.endAblation(cut, "")
}

// switchAblation switches to the settings for the next iteration.
func (l *loop) switchAblation(cut context.Context) error {
	if err := l.leaveDone(cut); err != nil || l.ablation == nil {
		return err
	}
	var next settings.Values
	err := l.protect(cut, func(t *trial) { next = t.schedule.Wanted() })
	if err != nil || l.ablation == nil {
		return err
	}
	return l.change(cut, next, true)
}

// observeAblation passes an iteration to the ablation.
func (l *loop) observeAblation(cut context.Context) error {
	if l.ablation == nil {
		return nil
	}
	look := false
	err := l.protect(cut, func(t *trial) { look = t.schedule.Add(&l.rec) })
	if err != nil || !look {
		return err
	}
	quality := math.NaN()
	if c, ok := l.work.(workload.Comparer); ok && l.quality >= 0 {
		measured, err := c.Quality(cut)
		if err != nil {
			return err
		}
		quality = measured[l.quality]
	}
	memory := l.work.Memory()
	return l.protect(cut, func(t *trial) {
		t.schedule.Look(quality, memory)
		l.publish(t)
	})
}
