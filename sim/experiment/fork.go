package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/sim/workload"
)

// Fork compares two settings from the same points over the same iterations, which are not recorded. It is not safe
// for concurrent use.
type Fork struct {
	before settings.Values
	schema *profiles.Schema
	view   profiles.Fork // as published, except for its rows
	pairs  [][2]profiles.Values
	series []int
	next   int64 // first iteration at which the next pair may begin
}

// NewFork compares the result under settings with that under those before a change: undone holds the changed settings
// with their previous values, and iteration is where the change took effect. quality is the series of the quality, −1
// for none.
func NewFork(task workload.Task, v settings.Values, schema *profiles.Schema, quality int,
	undone []settings.Assignment, iteration int64) (*Fork, error) {
	before, err := v.With(undone...)
	if err == nil {
		err = before.Validate()
	}
	_, can := task.(workload.Forker)
	if f, ok := task.(workload.Fixed); ok && err == nil {
		err = f.Fixed()
	}
	switch {
	case !can:
		err = errors.New("this workload cannot go back to where it was")
	case err == nil && len(v.Differing(before)) == 0:
		err = errors.New("the settings are as they were before that change")
	}
	if err != nil {
		return nil, err
	}
	keys, was, is := differences(before, v)
	f := &Fork{before: before, schema: schema, view: profiles.Fork{
		Running: true, Of: iteration, Key: keys, Before: was, After: is, Arm: profiles.ForkArm,
		Planned: profiles.ForkCount,
	}}
	if quality >= 0 {
		f.series = append(f.series, quality)
	}
	f.series = append(f.series, schema.Group(profiles.Losses)...)
	return f, nil
}

// Key is the changed settings, for the log.
func (f *Fork) Key() string { return f.view.Key }

// View returns the present table.
func (f *Fork) View() *profiles.Fork {
	v := f.view
	v.Done = len(f.pairs)
	for _, id := range f.series {
		v.Rows = append(v.Rows, f.row(id))
	}
	return &v
}

// End ends the fork for a reason and returns its last table.
func (f *Fork) End(why string) *profiles.Fork {
	f.view.Running, f.view.Ended = false, why
	return f.View()
}

// row returns the difference in a series.
func (f *Fork) row(id int) profiles.ForkRow {
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

// Point is the state of a run between two iterations, from which a pair of arms runs.
type Point struct {
	Task     workload.Task
	Settings settings.Values // in force
	Index    int64           // of the next iteration

	// Interrupted reports whether something waits that comes first: the pair then runs again later.
	Interrupted func() bool
}

// Pair runs a pair of arms, if one is due and the task can be marked here, and returns the task to where it was. news
// is true if View has changed; ended is why the fork is over, empty if it goes on.
func (f *Fork) Pair(cut context.Context, p Point) (news bool, ended string, err error) {
	if p.Index < f.next {
		return false, "", nil
	}
	task := p.Task.(workload.Forker)
	if err := task.Mark(cut); workload.Refused(err) {
		return false, err.Error(), nil
	} else if err != nil {
		return false, "", nil // the next iteration may be suitable
	}
	defer task.Unmark()
	pair, whole, err := f.arms(cut, p, task)
	over := errors.Is(err, workload.ErrDiverged) || workload.Refused(err)
	if err != nil && !over { // leave the run at the mark
		_ = task.Return(context.WithoutCancel(cut))
		return false, "", err
	}
	if err := p.Task.Apply(cut, p.Settings); err != nil {
		return false, "", err
	}
	if err := task.Return(cut); workload.Refused(err) {
		return false, err.Error(), nil
	} else if err != nil {
		return false, "", err
	}
	switch {
	case over:
		return false, err.Error(), nil
	case !whole:
		return false, "", nil
	}
	f.pairs = append(f.pairs, pair)
	f.next = p.Index + int64(f.view.Arm)
	if len(f.pairs) < f.view.Planned {
		return true, "", nil
	}
	return false, "complete", nil
}

// arms runs both arms from the mark. If an arm diverges, the error wraps ErrDiverged.
func (f *Fork) arms(cut context.Context, p Point, task workload.Forker) (pair [2]profiles.Values, whole bool,
	err error) {
	for arm, v := range []settings.Values{f.before, p.Settings} {
		if err := p.Task.Apply(cut, v); err != nil {
			return pair, false, err
		}
		if err := task.Return(cut); err != nil {
			return pair, false, err
		}
		if pair[arm], whole, err = f.arm(cut, p); err != nil {
			values := []string{f.view.Before, f.view.After}
			return pair, false, fmt.Errorf("%s = %s: %w", f.view.Key, values[arm], err)
		}
		if !whole {
			return pair, false, nil
		}
	}
	return pair, true, nil
}

// arm runs the iterations of an arm and returns the series at its end; whole is false if it was interrupted.
func (f *Fork) arm(cut context.Context, p Point) (v profiles.Values, whole bool, err error) {
	var rec profiles.Iteration
	for range f.view.Arm {
		if p.Interrupted() {
			return v, false, nil
		}
		rec = profiles.Iteration{Index: p.Index}
		if _, err := p.Task.Iterate(cut, &rec); err != nil {
			return v, false, err
		}
	}
	v = rec.Series
	if c, ok := p.Task.(workload.Comparer); ok {
		measured, err := c.Quality(cut)
		if err != nil {
			return v, false, err
		}
		for i, x := range measured {
			if !f.schema.Each(i) {
				v[i] = x
			}
		}
	}
	return v, true, nil
}
