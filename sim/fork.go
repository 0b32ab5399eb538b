package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/sim/workload"
)

// fork compares two settings from the same points over the same iterations.
type fork struct {
	before settings.Values
	view   profiles.Fork // as published, except for its rows
	pairs  [][2]profiles.Values
	series []int
	next   int64 // first iteration at which the next pair may begin
}

// errNoFork reports that the workload cannot be forked.
var errNoFork = errors.New("this workload cannot go back to where it was")

// Fork starts comparing the result under the current settings with that under the settings before
// a change: before holds the changed settings with their previous values, and iteration is where
// the change took effect. Iterations of the comparison are not recorded; afterwards the run
// continues from where it was. Changing a setting ends the fork.
func (r *Run) Fork(before []settings.Assignment, iteration int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended():
		return errEnded
	case r.over.Load():
		return errors.New("a fork needs iterations, and the run is over; restart it first")
	}
	r.queue(command{kind: forkCommand, before: before, iteration: iteration})
	return nil
}

// startFork starts a fork unless one is under way.
func (l *loop) startFork(c command) {
	if l.finished {
		return
	}
	if l.fork != nil {
		l.run.stream.Refuse("not forked: a fork is under way")
		return
	}
	before, err := l.base().With(c.before...)
	if err == nil {
		err = before.Validate()
	}
	changed := l.base().Differing(before)
	_, can := l.work.(workload.Forker)
	switch {
	case !can:
		err = errNoFork
	case err == nil && len(changed) == 0:
		err = errors.New("the settings are as they were before that change")
	}
	if err != nil {
		l.run.stream.Refuse("not forked: " + err.Error())
		return
	}
	var off, on []string
	for _, key := range changed {
		off, on = append(off, before.Get(key)), append(on, l.base().Get(key))
	}
	schema := &l.info.Schema
	f := &fork{before: before, view: profiles.Fork{
		Running: true, Of: c.iteration, Key: strings.Join(changed, ", "), Before: strings.Join(off, ", "), After: strings.Join(on, ", "),
		Arm: profiles.ForkArm, Planned: profiles.ForkCount,
	}}
	if l.quality >= 0 {
		f.series = append(f.series, l.quality)
	}
	f.series = append(f.series, schema.Group(profiles.Losses)...)
	l.fork = f
	l.run.stream.Log("fork of " + f.view.Key + " began")
	l.publishFork()
}

// publishFork publishes the present state of the fork.
func (l *loop) publishFork() {
	v := l.fork.view
	v.Done = len(l.fork.pairs)
	for _, id := range l.fork.series {
		v.Rows = append(v.Rows, l.fork.row(id))
	}
	l.run.stream.Fork(&v)
}

// row returns the difference in a series.
func (f *fork) row(id int) profiles.ForkRow {
	row := profiles.ForkRow{Series: id, Equal: len(f.pairs) > 0}
	var differences []float64
	for _, p := range f.pairs {
		before, after := p[0][id], p[1][id]
		row.Before, row.After = row.Before+before/float64(len(f.pairs)), row.After+after/float64(len(f.pairs))
		row.Equal = row.Equal && math.Float64bits(before) == math.Float64bits(after)
		if d := after - before; !math.IsNaN(d) && !math.IsInf(d, 0) {
			differences = append(differences, d)
		}
	}
	c := stats.SignedRank(differences)
	row.Difference, row.Low, row.High = c.Value, c.Low, c.High
	return row
}

// endFork ends a fork, if one is under way.
func (l *loop) endFork(why string) {
	f := l.fork
	if f == nil {
		return
	}
	f.view.Running, f.view.Ended = false, why
	l.publishFork()
	l.fork = nil
	l.run.stream.Log("fork of " + f.view.Key + " ended: " + why)
}

// forkHere runs a pair of arms from the present iteration, if one is due and the run can be
// marked here. Pending commands come first; an incomplete pair is run again later.
func (l *loop) forkHere(cut context.Context) (err error) {
	f := l.fork
	if f == nil || l.ablation != nil || l.index < f.next {
		return nil
	}
	task := l.work.(workload.Forker)
	if task.Mark(cut) != nil {
		return nil // the next iteration may be suitable
	}
	defer task.Unmark()
	pair, whole, err := l.arms(cut, f, task)
	diverged := errors.Is(err, workload.ErrDiverged)
	if err != nil && !diverged && !refusedBy(err) { // leave the run at the mark
		_ = task.Return(context.WithoutCancel(cut))
		return err
	}
	if err := l.work.Apply(cut, l.settings); err != nil {
		return err
	}
	if err := task.Return(cut); err != nil {
		return err
	}
	switch {
	case refusedBy(err):
		l.endFork(err.Error())
		return nil
	case diverged:
		l.endFork(err.Error())
		return nil
	case !whole:
		return nil
	}
	f.pairs = append(f.pairs, pair)
	f.next = l.index + int64(f.view.Arm)
	if len(f.pairs) < f.view.Planned {
		l.publishFork()
		return nil
	}
	l.endFork("complete")
	return nil
}

// arms runs both arms from the mark. If an arm diverges, the error wraps ErrDiverged.
func (l *loop) arms(cut context.Context, f *fork, task workload.Forker) (pair [2]profiles.Values, whole bool, err error) {
	for arm, v := range []settings.Values{f.before, l.settings} {
		if err := l.work.Apply(cut, v); err != nil {
			return pair, false, err
		}
		if err := task.Return(cut); err != nil {
			return pair, false, err
		}
		if pair[arm], whole, err = l.arm(cut, f); err != nil {
			values := []string{f.view.Before, f.view.After}
			return pair, false, fmt.Errorf("%s = %s: %w", f.view.Key, values[arm], err)
		}
		if !whole {
			return pair, false, nil
		}
	}
	return pair, true, nil
}

// arm runs the iterations of an arm and returns the series at its end; whole is false if a
// command interrupted it.
func (l *loop) arm(cut context.Context, f *fork) (v profiles.Values, whole bool, err error) {
	var rec profiles.Iteration
	for range f.view.Arm {
		if l.run.pending.Load() {
			return v, false, nil
		}
		rec = profiles.Iteration{Index: l.index}
		if _, err := l.work.Iterate(cut, &rec); err != nil {
			return v, false, err
		}
	}
	v = rec.Series
	if c, ok := l.work.(workload.Comparer); ok {
		measured, err := c.Quality(cut)
		if err != nil {
			return v, false, err
		}
		for i, x := range measured {
			if !l.info.Schema.Each(i) {
				v[i] = x
			}
		}
	}
	return v, true, nil
}
