package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
)

// The auto-tuner of the batch size: a search by comparisons between iterations that the setting
// auto_tune starts, and that ends by itself with the best size in force, or with the first size if
// the user changes anything.

// items returns the number of items in a batch under settings; nil if iterations are not batches.
func (l *loop) items() func(settings.Values) int {
	if l.info.Schema.Item.One == "" {
		return nil
	}
	return l.info.Schema.Items
}

// tune starts the tuner if the settings ask for it and nothing else is compared.
func (l *loop) tune(cut context.Context) error {
	items := l.items()
	if items == nil || l.ablation != nil || l.fork != nil || !l.settings.On(settings.AutoTune) {
		return nil
	}
	base, maker := l.settings, l.run.options.Maker
	l.ablation = &trial{base: base}
	l.run.stream.Log("auto-tuner began at " + settings.BatchSize + " = " + base.Get(settings.BatchSize))
	return l.protect(cut, func(t *trial) {
		t.schedule = ablation.NewTuner(base, ablation.TunerOptions{
			Options: ablation.Options{Kinds: l.info.Schema.Kinds, Quality: l.info.Schema.QualityInfo(), Items: items, Seed: rand.Uint64()},
			Needed:  func(m profiles.Memory) int64 { return m.Needed(&l.info.Schema) },
			Values: func(size int) (settings.Values, error) {
				v, err := base.Set(settings.BatchSize, strconv.Itoa(size))
				if err == nil {
					err = v.Validate()
				}
				if err == nil {
					err = maker.Check(v, settings.BatchSize)
				}
				return v, err
			},
		})
		l.publish(t)
	})
}

// chooser is a schedule that may end with other settings than it began with.
type chooser interface {
	Chosen() (v settings.Values, ok bool)
}

// chosen returns the settings that the schedule has chosen; ok is false if it restores the base.
func (t *trial) chosen() (v settings.Values, ok bool) {
	if c, is := t.schedule.(chooser); is {
		return c.Chosen()
	}
	return v, false
}

// adopt puts the settings that a schedule has chosen into force, as a change of its own, unless the user
// has asked for a change meanwhile: those are then restored to which that change applies.
func (l *loop) adopt(cut context.Context, base, chosen settings.Values, last *profiles.Ablation) error {
	if !l.run.want(settings.Assignment{Key: settings.AutoTune, Value: "false"},
		settings.Assignment{Key: settings.BatchSize, Value: chosen.Get(settings.BatchSize)}) {
		last.Ended, last.Tuning.Chosen = last.Ended+"; not adopted: the settings were changed meanwhile", 0
		return l.restore(cut, base, last, "")
	}
	l.show(last)
	l.run.stream.Log(last.Name() + " ended: " + last.Ended)
	if err := l.change(cut, base, true); err != nil {
		return err
	}
	l.tuned = fmt.Sprintf("the auto-tuner: %s = %s", settings.BatchSize, chosen.Get(settings.BatchSize))
	return l.change(cut, chosen, false)
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

// stopComparing ends an ablation, or the tuner, which is then off.
func (l *loop) stopComparing(cut context.Context) error {
	tunes := l.ablation != nil && l.settings.On(settings.AutoTune)
	if err := l.stopAblation(cut, "it was stopped"); err != nil || !tunes {
		return err
	}
	off := settings.Assignment{Key: settings.AutoTune, Value: "false"}
	next, err := l.settings.With(off)
	if err != nil {
		return err
	}
	l.run.want(off) // unless a later change says what is to be
	return l.change(cut, next, false)
}

// overruled switches the tuner off if another batch size is asked for.
func overruled(next settings.Values, sets []settings.Assignment) settings.Values {
	for _, a := range sets {
		if a.Key == settings.AutoTune {
			return next
		}
	}
	for _, a := range sets {
		if a.Key == settings.BatchSize && next.On(settings.AutoTune) {
			if off, err := next.Set(settings.AutoTune, "false"); err == nil {
				return off
			}
		}
	}
	return next
}
