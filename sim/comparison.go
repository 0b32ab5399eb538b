package sim

import (
	"context"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/ablation"
	"prismtop/sim/experiment"
	"prismtop/sim/workload"
)

// comparing is the comparison of a run: which one may begin, one at a time, the settings that it switches to between
// two iterations, and how these return. What makes one is in package experiment.
type comparing struct {
	boundary boundary
	stream   *stream.Stream
	check    func(v settings.Values, key string) error // refuses settings that the auto-tuner might try

	now   *experiment.Comparison // nil where none is under way
	table *profiles.Ablation     // of the newest comparison, nil before the first
	tuned string                 // what the auto-tuner has chosen, empty before
}

// boundary is what a comparison reads of a run between two iterations, and does there.
type boundary interface {
	// moment returns the run as it is.
	moment() moment
	// change changes the live settings to others, with an error that ends the run. Those of an ablation end with it.
	change(cut context.Context, next settings.Values, ablating bool) error
	// adopt publishes settings of an ablation as changed back, of which no iteration runs any more.
	adopt(v settings.Values, ablating bool)
	// want changes what is asked of the run; false if a change by the user waits, which overrules it.
	want(sets ...settings.Assignment) bool
	// decline logs why a command is not carried out.
	decline(text string)
}

// moment is a run between two iterations.
type moment struct {
	settings settings.Values // in force
	schema   *profiles.Schema
	index    int64 // of the next iteration
	paused   bool
	finished bool
	forks    bool // a fork is under way
	newest   *profiles.Iteration
	typical  time.Duration // of an iteration, 0 before the first
	work     workload.Task
	quality  int // the series of the quality, −1 for none
}

// begun prepares for a start of a run.
func (c *comparing) begun(l boundary, r *Run) {
	c.boundary, c.stream, c.check, c.tuned = l, r.stream, r.options.Maker.Check, ""
}

// decides reports whether the comparison under way is a decision.
func (c *comparing) decides() bool { return c.now != nil && c.now.Decides() }

// begin begins a comparison; none is under way.
func (c *comparing) begin(cut context.Context, next *experiment.Comparison) error {
	c.now = next
	if began := next.Began(); began != "" {
		c.stream.Log(began)
	}
	table, err := next.Begin()
	if err != nil {
		return c.stop(cut, err.Error())
	}
	c.show(table)
	return nil
}

// show publishes a table.
func (c *comparing) show(v *profiles.Ablation) {
	c.table = v
	c.stream.Ablation(v)
}

// makeWay ends a decision, which makes way for a comparison that is asked for, and a comparison that is over. It
// returns whether one may begin.
func (c *comparing) makeWay(cut context.Context) (free bool, err error) {
	if err := c.leaveDone(cut); err != nil {
		return false, err
	}
	if err := c.stopDeciding(cut, "another comparison was asked for"); err != nil {
		return false, err
	}
	return c.now == nil && !c.boundary.moment().finished, nil
}

// ablate starts an ablation unless another comparison is under way.
func (c *comparing) ablate(cut context.Context, o ablation.Options) error {
	if free, err := c.makeWay(cut); !free {
		return err
	}
	at := c.boundary.moment()
	return c.begin(cut, experiment.NewAblation(at.settings, at.schema, o))
}

// replicate starts a replication of a change at an iteration, from settings before it, unless another comparison is
// under way.
func (c *comparing) replicate(cut context.Context, before []settings.Assignment, iteration int64) error {
	if free, err := c.makeWay(cut); !free {
		return err
	}
	at := c.boundary.moment()
	r, err := experiment.NewReplication(at.settings, at.schema, before, iteration)
	if err != nil {
		c.boundary.decline("not replicated: " + err.Error())
		return nil
	}
	return c.begin(cut, r)
}

// decide starts the decision on a change from before that was just made and took a time, if there is to be one.
func (c *comparing) decide(cut context.Context, before settings.Values, took time.Duration) error {
	at := c.boundary.moment()
	if at.paused || at.index == 0 {
		return nil
	}
	press := experiment.Press{Before: before, After: at.settings, Took: took, Iteration: at.typical}
	if d := experiment.NewDecision(at.schema, press, at.index); d != nil {
		return c.begin(cut, d)
	}
	return nil
}

// tune starts the auto-tuner if the settings ask for it and nothing else is compared.
func (c *comparing) tune(cut context.Context) error {
	at := c.boundary.moment()
	if c.now != nil || at.forks || !experiment.Tunes(at.settings, at.schema) {
		return nil
	}
	return c.begin(cut, experiment.NewTuner(at.settings, at.schema, c.check))
}

// switchSettings switches to the settings that a comparison wants for the next iteration.
func (c *comparing) switchSettings(cut context.Context) error {
	if err := c.leaveDone(cut); err != nil || c.now == nil {
		return err
	}
	next, err := c.now.Next()
	if err != nil {
		return c.stop(cut, err.Error())
	}
	at := c.boundary.moment()
	if s, ok := at.work.(workload.Scheduler); ok {
		blocks, err := c.now.Ahead(at.typical)
		if err == nil {
			err = s.Plan(cut, blocks, c.now.Base())
		}
		if err != nil {
			if cut.Err() != nil {
				return err
			}
			return c.stop(cut, err.Error())
		}
	}
	return c.boundary.change(cut, next, true)
}

// observe passes the newest iteration to the comparison under way.
func (c *comparing) observe(cut context.Context) error {
	if c.now == nil {
		return nil
	}
	at := c.boundary.moment()
	look, err := c.now.Take(at.newest)
	if err == nil && look {
		quality := math.NaN()
		if compares, ok := at.work.(workload.Comparer); ok && at.quality >= 0 {
			measured, err := compares.Quality(cut)
			if err != nil {
				return err
			}
			quality = measured[at.quality]
		}
		var table *profiles.Ablation
		if table, err = c.now.Look(quality, at.work.Memory()); err == nil {
			if why := experiment.Extended(c.table, table); why != "" {
				c.stream.Log(why)
			}
			c.show(table)
		}
	}
	if err != nil {
		return c.stop(cut, err.Error())
	}
	return nil
}

// stopDeciding ends a decision, if one is under way; other comparisons go on.
func (c *comparing) stopDeciding(cut context.Context, why string) error {
	if !c.decides() {
		return nil
	}
	return c.stop(cut, why)
}

// stopAsked ends a comparison for the user; if it is the tuner, that is then off.
func (c *comparing) stopAsked(cut context.Context) error {
	var off []settings.Assignment
	if c.now != nil {
		off = experiment.TunerOff(c.boundary.moment().settings)
	}
	if err := c.stop(cut, "it was stopped"); err != nil || len(off) == 0 {
		return err
	}
	next, err := c.boundary.moment().settings.With(off...)
	if err != nil {
		return err
	}
	c.boundary.want(off...) // unless a later change says what is to be
	return c.boundary.change(cut, next, false)
}

// stop ends a comparison, if one is under way, and restores the settings, also if its schedule has
// just chosen others.
func (c *comparing) stop(cut context.Context, why string) error { return c.leave(cut, why, "") }

// leave is stop for a change made by the user.
func (c *comparing) leave(cut context.Context, why, besides string) error {
	left := c.now
	if left == nil {
		return nil
	}
	c.now = nil
	return c.restore(cut, left, left.Leave(why), besides)
}

// unplan has a task that runs blocks by itself end them.
func (c *comparing) unplan(cut context.Context, base settings.Values) error {
	if s, ok := c.boundary.moment().work.(workload.Scheduler); ok {
		return s.Plan(cut, nil, base)
	}
	return nil
}

// restore shows the last table of a comparison and restores the settings.
func (c *comparing) restore(cut context.Context, left *experiment.Comparison, last *profiles.Ablation,
	besides string) error {
	if err := c.unplan(cut, left.Base()); err != nil {
		return err
	}
	c.show(last)
	c.stream.Log(experiment.Ended(last, besides))
	return c.boundary.change(cut, left.Base(), true)
}

// leaveDone ends a comparison whose schedule is over.
func (c *comparing) leaveDone(cut context.Context) error {
	if c.now == nil || !c.now.Done() {
		return nil
	}
	return c.conclude(cut, "")
}

// conclude ends a comparison, if one is under way, with the settings that its schedule has chosen, or with
// those of before. A choice comes into force as a change of its own, unless the user has asked for a change meanwhile:
// those are then restored to which that change applies.
func (c *comparing) conclude(cut context.Context, why string) error {
	left := c.now
	if left == nil {
		return nil
	}
	c.now = nil
	last, choice, chose := left.Conclude(why)
	if chose && !c.boundary.want(choice.Sets...) {
		experiment.Decline(last, "the settings were changed meanwhile")
		chose = false
	}
	if !chose {
		return c.restore(cut, left, last, "")
	}
	c.show(last)
	c.stream.Log(last.Name() + " ended: " + last.Ended)
	if err := c.unplan(cut, left.Base()); err != nil {
		return err
	}
	if err := c.boundary.change(cut, left.Base(), true); err != nil {
		return err
	}
	c.tuned = choice.Name
	return c.boundary.change(cut, choice.Settings, false)
}

// abandon ends a comparison together with its run. No iteration follows, so the
// restored settings are only published.
func (c *comparing) abandon(why string) {
	left := c.now
	if left == nil {
		return
	}
	c.now = nil
	last := left.Leave(why)
	c.show(last)
	c.stream.Log(experiment.Ended(last, ""))
	c.boundary.adopt(left.Base(), true)
}

// moment returns the run as a comparison sees it.
func (l *loop) moment() moment {
	return moment{
		settings: l.settings, schema: &l.info.Schema, index: l.index, paused: l.paused, finished: l.finished,
		forks:  l.fork != nil,
		newest: &l.rec, typical: l.typical.time(), work: l.work, quality: l.view.quality,
	}
}

// adopt publishes settings as changed, without the task: those of an ablation as changed back.
func (l *loop) adopt(v settings.Values, ablating bool) {
	changes := l.changes.list(l.settings, v, l.index, ablating)
	l.settings = v
	l.read()
	l.changes.publish(changes, l.settings, l.info.Device, l.work)
}

// want changes what is asked of the run.
func (l *loop) want(sets ...settings.Assignment) bool { return l.run.want(sets...) }
