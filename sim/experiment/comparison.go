// Package experiment has what a run tries on itself: an ablation, a replication, the decision on a press of a key, the
// search of the auto-tuner, and a fork.
//
// The loop of the run keeps the boundary between two iterations. An experiment reads there what it is given and answers
// with what the loop does next; it has no loop, no stream and no queue of commands, and none knows another.
//
//	           reads                                     does
//	Comparison each record; quality and memory if it     names the settings of the next iteration, the table to
//	           asked to look                             publish, and at its end the settings to return to or to adopt
//	Fork       the settings in force                     runs both arms of a pair on the task and returns the task
//	                                                     to where it was; names the table to publish
//
// A Comparison is one of four kinds, by its constructor: NewAblation, NewReplication, NewDecision and NewTuner. The
// loop has one at a time, and decides which gives way.
package experiment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
)

// Schedule decides which settings the iterations of a comparison run, and evaluates their times. Package ablation
// has them.
type Schedule interface {
	// Done reports whether the schedule is over, and End ends it for a reason.
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

// A chooser is a schedule that may end with other settings than it began with.
type chooser interface {
	Chosen() (v settings.Values, ok bool)
}

// Comparison switches settings between iterations as its schedule requires. A panic of the schedule is an error of the
// method that met it; the comparison can then only be left. It is not safe for concurrent use.
type Comparison struct {
	base     settings.Values
	began    string // its first line of the log; empty for none
	plan     func() Schedule
	schedule Schedule
	table    profiles.Ablation // the newest
	adopts   func(chosen settings.Values) Choice
}

// Compare returns the comparison of any schedule, which plan makes. It starts from base and returns to it; began is its
// first line of the log, empty for none.
func Compare(base settings.Values, began string, plan func() Schedule) *Comparison {
	return &Comparison{base: base, began: began, plan: plan}
}

// Choice is what a comparison asks to adopt at its end.
type Choice struct {
	Settings settings.Values       // in force then
	Sets     []settings.Assignment // how they differ from those before
	Name     string                // of the choice, as what ended a run
}

// Base returns the settings in force before the comparison and after it.
func (c *Comparison) Base() settings.Values { return c.base }

// Began is the line of the log about the beginning; empty for none.
func (c *Comparison) Began() string { return c.began }

// Decides reports whether a press of a key is decided, for which any other comparison may be started.
func (c *Comparison) Decides() bool { return c.table.Decides() }

// Done reports whether the schedule is over.
func (c *Comparison) Done() (done bool) {
	_ = c.guard(func() { done = c.schedule != nil && c.schedule.Done() }) // the next method meets it again
	return done
}

// guard calls the schedule and returns its panic as an error.
func (c *Comparison) guard(do func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	do()
	return nil
}

// view returns the present table.
func (c *Comparison) view() *profiles.Ablation {
	v := c.schedule.View()
	c.table = *v
	return v
}

// Begin plans the comparison and returns its first table.
func (c *Comparison) Begin() (table *profiles.Ablation, err error) {
	err = c.guard(func() {
		c.schedule = c.plan()
		table = c.view()
	})
	return table, err
}

// A planner is a schedule whose next blocks are known: those of a whole group.
type planner interface {
	Ahead(each time.Duration) []profiles.Block
}

// Ahead returns the blocks that come next, the first being the one under way, given the time of an iteration before
// the comparison; none if they are not known. It fixes their lengths, so it is only for tasks that run blocks by
// themselves.
func (c *Comparison) Ahead(each time.Duration) (blocks []profiles.Block, err error) {
	if p, ok := c.schedule.(planner); ok {
		err = c.guard(func() { blocks = p.Ahead(each) })
	}
	return blocks, err
}

// Next returns the settings for the next iteration. This is the only place where a schedule is asked for them.
func (c *Comparison) Next() (v settings.Values, err error) {
	err = c.guard(func() { v = c.schedule.Wanted() })
	return v, err
}

// Take takes the record of an iteration under Next. look is true if Look must be called before the next one.
func (c *Comparison) Take(it *profiles.Iteration) (look bool, err error) {
	err = c.guard(func() { look = c.schedule.Add(it) })
	return look, err
}

// Look takes the quality of the result, NaN for none, and the memory of the run, and returns the new table.
func (c *Comparison) Look(quality float64, memory profiles.Memory) (table *profiles.Ablation, err error) {
	err = c.guard(func() {
		c.schedule.Look(quality, memory)
		table = c.view()
	})
	return table, err
}

// chosen returns the settings that the schedule has chosen; ok is false if it returns to the base.
func (c *Comparison) chosen() (v settings.Values, ok bool) {
	if s, is := c.schedule.(chooser); is && c.adopts != nil {
		return s.Chosen()
	}
	return v, false
}

// Leave ends the comparison and returns its last table. The settings to return to are those of Base, also if others
// have just been chosen.
func (c *Comparison) Leave(why string) *profiles.Ablation {
	last := c.end(why)
	if _, chose := c.chosen(); chose {
		Decline(last, why)
	}
	return last
}

// Conclude is Leave, unless settings have been chosen: those are returned as well, to be adopted or, by Decline, not.
func (c *Comparison) Conclude(why string) (last *profiles.Ablation, choice Choice, chose bool) {
	chosen, chose := c.chosen()
	if !chose {
		return c.Leave(why), Choice{}, false
	}
	return c.end(why), c.adopts(chosen), true
}

// Decline changes the last table of a comparison whose choice is not adopted.
func Decline(last *profiles.Ablation, why string) {
	last.Ended, last.Tuning.Chosen = last.Ended+"; not adopted: "+why, 0
}

// end ends the schedule and returns its last table, or the newest one before if it cannot make another.
func (c *Comparison) end(why string) (last *profiles.Ablation) {
	before := c.table
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
	_ = c.guard(func() {
		c.schedule.End(why)
		last = c.schedule.View()
	})
	return last
}

// Ended is the line of the log about the end of a comparison; besides is what else changes with the settings
// that return.
func Ended(last *profiles.Ablation, besides string) string {
	if last.Decides() {
		return last.Decided()
	}
	return last.Name() + " ended: " + last.Ended + "; the settings are as before" + besides
}

// optionsFor completes the options of a comparison for a workload.
func optionsFor(schema *profiles.Schema, o ablation.Options) ablation.Options {
	o.Kinds, o.Caches = schema.Kinds, schema.Caches
	o.Quality, o.Items = schema.QualityInfo(), itemsOf(schema)
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	return o
}

// itemsOf returns the function for the number of items in a batch under settings; nil if iterations are not batches.
func itemsOf(schema *profiles.Schema) func(settings.Values) int {
	if schema.Item.One == "" {
		return nil
	}
	return schema.Items
}
