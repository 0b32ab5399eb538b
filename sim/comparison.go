package sim

import (
	"context"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
	"prismtop/sim/experiment"
	"prismtop/sim/workload"
)

// The comparisons of a run at the boundary between two iterations: which one may begin, the settings that it switches
// to, and how these return. There is one at a time; what makes one is in package experiment.

// beginComparison begins a comparison; none is under way.
func (l *loop) beginComparison(cut context.Context, c *experiment.Comparison) error {
	l.comparison = c
	if began := c.Began(); began != "" {
		l.run.stream.Log(began)
	}
	table, err := c.Begin()
	if err != nil {
		return l.stopComparison(cut, err.Error())
	}
	l.show(table)
	return nil
}

// show publishes a table.
func (l *loop) show(v *profiles.Ablation) {
	l.table = v
	l.run.stream.Ablation(v)
}

// makeWay ends a decision, which makes way for a comparison that is asked for, and a comparison that is over. It
// returns whether one may begin.
func (l *loop) makeWay(cut context.Context) (free bool, err error) {
	if err := l.leaveDone(cut); err != nil {
		return false, err
	}
	if err := l.stopDeciding(cut, "another comparison was asked for"); err != nil {
		return false, err
	}
	return l.comparison == nil && !l.finished, nil
}

// startAblation starts an ablation unless another comparison is under way.
func (l *loop) startAblation(cut context.Context, o ablation.Options) error {
	if free, err := l.makeWay(cut); !free {
		return err
	}
	return l.beginComparison(cut, experiment.NewAblation(l.settings, &l.info.Schema, o))
}

// startReplication starts a replication unless another comparison is under way.
func (l *loop) startReplication(cut context.Context, c command) error {
	if free, err := l.makeWay(cut); !free {
		return err
	}
	r, err := experiment.NewReplication(l.settings, &l.info.Schema, c.Settings, c.At)
	if err != nil {
		l.decline("not replicated: " + err.Error())
		return nil
	}
	return l.beginComparison(cut, r)
}

// decide starts the decision on a change from before that was just made and took a time, if there is to be one.
func (l *loop) decide(cut context.Context, before settings.Values, took time.Duration) error {
	if l.paused || l.index == 0 {
		return nil
	}
	press := experiment.Press{Before: before, After: l.settings, Took: took, Iteration: time.Duration(l.rec.Total)}
	if d := experiment.NewDecision(&l.info.Schema, press, l.index); d != nil {
		return l.beginComparison(cut, d)
	}
	return nil
}

// tune starts the auto-tuner if the settings ask for it and nothing else is compared.
func (l *loop) tune(cut context.Context) error {
	if l.comparison != nil || l.fork != nil || !experiment.Tunes(l.settings, &l.info.Schema) {
		return nil
	}
	return l.beginComparison(cut, experiment.NewTuner(l.settings, &l.info.Schema, l.run.options.Maker.Check))
}

// switchSettings switches to the settings that a comparison wants for the next iteration.
func (l *loop) switchSettings(cut context.Context) error {
	if err := l.leaveDone(cut); err != nil || l.comparison == nil {
		return err
	}
	next, err := l.comparison.Next()
	if err != nil {
		return l.stopComparison(cut, err.Error())
	}
	return l.change(cut, next, true)
}

// observe passes the iteration to the comparison under way.
func (l *loop) observe(cut context.Context) error {
	c := l.comparison
	if c == nil {
		return nil
	}
	look, err := c.Take(&l.rec)
	if err == nil && look {
		quality := math.NaN()
		if compares, ok := l.work.(workload.Comparer); ok && l.view.quality >= 0 {
			measured, err := compares.Quality(cut)
			if err != nil {
				return err
			}
			quality = measured[l.view.quality]
		}
		var table *profiles.Ablation
		if table, err = c.Look(quality, l.work.Memory()); err == nil {
			l.show(table)
		}
	}
	if err != nil {
		return l.stopComparison(cut, err.Error())
	}
	return nil
}

// stopDeciding ends a decision, if one is under way; other comparisons go on.
func (l *loop) stopDeciding(cut context.Context, why string) error {
	if l.comparison == nil || !l.comparison.Decides() {
		return nil
	}
	return l.stopComparison(cut, why)
}

// stopAsked ends a comparison for the user; if it is the tuner, that is then off.
func (l *loop) stopAsked(cut context.Context) error {
	var off []settings.Assignment
	if l.comparison != nil {
		off = experiment.TunerOff(l.settings)
	}
	if err := l.stopComparison(cut, "it was stopped"); err != nil || len(off) == 0 {
		return err
	}
	next, err := l.settings.With(off...)
	if err != nil {
		return err
	}
	l.run.want(off...) // unless a later change says what is to be
	return l.change(cut, next, false)
}

// stopComparison ends a comparison, if one is under way, and restores the settings, also if its schedule has
// just chosen others.
func (l *loop) stopComparison(cut context.Context, why string) error {
	return l.leaveComparison(cut, why, "")
}

// leaveComparison is stopComparison for a change made by the user.
func (l *loop) leaveComparison(cut context.Context, why, besides string) error {
	c := l.comparison
	if c == nil {
		return nil
	}
	l.comparison = nil
	return l.restore(cut, c, c.Leave(why), besides)
}

// restore shows the last table of a comparison and restores the settings.
func (l *loop) restore(cut context.Context, c *experiment.Comparison, last *profiles.Ablation, besides string) error {
	l.show(last)
	l.run.stream.Log(experiment.Ended(last, besides))
	return l.change(cut, c.Base(), true)
}

// leaveDone ends a comparison whose schedule is over.
func (l *loop) leaveDone(cut context.Context) error {
	if l.comparison == nil || !l.comparison.Done() {
		return nil
	}
	return l.concludeComparison(cut, "")
}

// concludeComparison ends a comparison, if one is under way, with the settings that its schedule has chosen, or with
// those of before. A choice comes into force as a change of its own, unless the user has asked for a change meanwhile:
// those are then restored to which that change applies.
func (l *loop) concludeComparison(cut context.Context, why string) error {
	c := l.comparison
	if c == nil {
		return nil
	}
	l.comparison = nil
	last, choice, chose := c.Conclude(why)
	if chose && !l.run.want(choice.Sets...) {
		experiment.Decline(last, "the settings were changed meanwhile")
		chose = false
	}
	if !chose {
		return l.restore(cut, c, last, "")
	}
	l.show(last)
	l.run.stream.Log(last.Name() + " ended: " + last.Ended)
	if err := l.change(cut, c.Base(), true); err != nil {
		return err
	}
	l.tuned = choice.Name
	return l.change(cut, choice.Settings, false)
}

// abandonComparison ends a comparison together with its run. No iteration follows, so the
// restored settings are only published.
func (l *loop) abandonComparison(why string) {
	c := l.comparison
	if c == nil {
		return
	}
	l.comparison = nil
	last := c.Leave(why)
	l.show(last)
	l.run.stream.Log(experiment.Ended(last, ""))
	changes := l.changes.list(l.settings, c.Base(), l.index, true)
	l.settings = c.Base()
	l.read()
	l.changes.publish(changes, l.settings, l.info.Device, l.work)
}
