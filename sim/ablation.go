package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/checklist"
	"prismtop/profiles/settings"
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
// the change took effect. It ends in the same ways as StartAblation.
func (r *Run) Replicate(before []settings.Assignment, iteration int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended():
		return errEnded
	case r.over.Load():
		return errAblateOver
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
	if err := l.leaveDone(cut); err != nil || l.ablation != nil || l.finished {
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

// startReplication starts a replication unless an ablation is under way. It refuses a change that
// is no longer in force or cannot be reverted.
func (l *loop) startReplication(cut context.Context, c command) error {
	if err := l.leaveDone(cut); err != nil || l.ablation != nil || l.finished {
		return err
	}
	before, err := l.settings.With(c.before...)
	if err == nil {
		err = before.Validate()
	}
	changed := l.settings.Differing(before)
	switch {
	case err != nil:
		l.run.stream.Refuse("not replicated: " + err.Error())
		return nil
	case len(changed) == 0:
		l.run.stream.Refuse("not replicated: the settings are as they were before that change")
		return nil
	}
	var off, on []string
	for _, key := range changed {
		off, on = append(off, before.Get(key)), append(on, l.settings.Get(key))
	}
	name := strings.Join(changed, ", ")
	if isEverything(l.settings.Table(), c.before) {
		name, off, on = checklist.Everything, []string{"off"}, []string{"on"}
	}
	l.ablation = &trial{base: l.settings}
	l.run.stream.Log("replication of " + name + " began")
	return l.protect(cut, func(t *trial) {
		change := ablation.Pairing{Key: name, Off: strings.Join(off, ", "), On: strings.Join(on, ", "), Before: before, After: t.base}
		t.schedule = ablation.Replicate(t.base, change, c.iteration, ablation.Options{Kinds: l.info.Schema.Kinds, Quality: l.info.Schema.QualityInfo(), Items: l.items(), Seed: rand.Uint64()})
		l.publish(t)
	})
}

// isEverything reports whether these are the values of every optimisation that saves time, off.
func isEverything(t *settings.Table, before []settings.Assignment) bool {
	off, _ := t.Everything()
	return len(off) > 1 && slices.Equal(off, before)
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
	l.run.stream.Log(last.Name() + " ended: " + last.Ended + "; the settings are as before" + besides)
	return l.change(cut, base, true)
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
	l.run.stream.Log(last.Name() + " ended: " + last.Ended + "; the settings are as before")
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
