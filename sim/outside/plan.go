package outside

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/loop"
	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
	"prismtop/sim/workload"
)

// Blocks of a comparison that the loop runs by itself, by the number of its steps: they are exact, and at their end the
// settings are as before them whether prismtop is there or not.

// plan is a schedule that the loop has. nil is none.
type plan struct {
	generation uint32
	knobs      []loop.Knob
	arms       []settings.Values
	order      []int
	base       settings.Values // in force after it
	wanted     settings.Values // by the comparison: steps under others are left out
	block      int             // of the newest step
	over       bool
}

// sameOf reports whether settings have the same values of knobs.
func sameOf(knobs []loop.Knob, a, b settings.Values) bool {
	for i := range knobs {
		if loopValue(&knobs[i], a) != loopValue(&knobs[i], b) {
			return false
		}
	}
	return true
}

// covers reports whether steps under settings are still to come.
func (p *plan) covers(v settings.Values) bool {
	return p != nil && !p.over && slices.ContainsFunc(p.order[p.block:], func(arm int) bool {
		return sameOf(p.knobs, p.arms[arm], v)
	})
}

// mark marks a step that ran under other settings than those that are compared now.
func (p *plan) mark(step *loop.Record) {
	if p == nil || step.Generation != p.generation {
		return
	}
	under := p.base
	if b := int64(step.Block); b < int64(len(p.order)) {
		p.block = int(b)
		under = p.arms[p.order[b]]
	}
	if !sameOf(p.knobs, under, p.wanted) {
		step.Flags |= loop.Settling
	}
}

// hear takes an answer of the loop.
func (p *plan) hear(t *task, r *loop.Record) {
	if p != nil && r.Generation == p.generation && (r.Outcome == loop.ScheduleOver || r.Outcome == loop.LeaseOver) {
		p.over, t.settings = true, p.base
	}
}

// leave ends a schedule, and reports whether the loop must be told: with the next settings it goes back to the base.
func (p *plan) leave(t *task) (told bool) {
	if p == nil {
		return false
	}
	t.plan, t.settings = nil, p.base
	return !p.over
}

// spare are steps of a block beyond those that are compared: with several ranks, a step that is left out counts.
func (t *task) spare(length int) int {
	if t.ranks.several() {
		return 2 + length/4
	}
	return 0
}

// Plan hands over blocks, unless the loop has them already. None end those that it has.
func (t *task) Plan(ctx context.Context, blocks []profiles.Block, base settings.Values) error {
	switch {
	case t.marked, len(blocks) > 0 && t.plan.covers(blocks[0].Settings):
		return nil
	case len(blocks) == 0:
		if !t.plan.leave(t) {
			return nil
		}
		_, err := t.send(ctx, t.asked)
		return err
	}
	p := &plan{knobs: t.Greeting.Knobs, base: base, wanted: blocks[0].Settings}
	schedule, warm := &loop.Schedule{}, blocks[0].Warm
	for _, b := range blocks {
		arm := slices.IndexFunc(p.arms, func(v settings.Values) bool { return sameOf(p.knobs, v, b.Settings) })
		if arm < 0 {
			arm = len(p.arms)
			p.arms = append(p.arms, b.Settings)
		}
		p.order = append(p.order, arm)
		schedule.Length = max(schedule.Length, b.Length+t.spare(b.Length))
	}
	if len(p.arms) > loop.MaxArms || len(p.order) > loop.MaxBlocks {
		return nil
	}
	t.plan.leave(t)
	next := t.asked
	next.Watch = "" // steps whose phases are not timed are not compared
	next.Set, next.After = maps.Clone(t.asked.Set), map[string]string{}
	next.Warm, next.LeaseMS, next.Layers = &warm, int(lease.Milliseconds()), base.On(settings.LayerProfile)
	schedule.Order, schedule.Arms = p.order, make([]map[string]string, len(p.arms))
	for arm := range p.arms {
		schedule.Arms[arm] = map[string]string{}
	}
	for i := range p.knobs {
		k := &p.knobs[i]
		before := loopValue(k, base)
		if !slices.ContainsFunc(p.arms, func(v settings.Values) bool { return loopValue(k, v) != before }) {
			continue
		}
		next.After[k.Key] = before
		for arm, v := range p.arms {
			schedule.Arms[arm][k.Key] = loopValue(k, v)
		}
	}
	if len(next.After) == 0 {
		return nil
	}
	next.Schedule = schedule
	why, err := t.send(ctx, next)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(why)) {
		_, err := t.send(ctx, t.asked)
		return cmp.Or(err, error(&workload.RefusedError{Err: errors.New(visible.Text(why[key]))}))
	}
	p.generation, t.plan, t.trying = t.sent, p, true
	return nil
}
