package outside

import (
	"context"
	"errors"
	"fmt"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/loop"
	"prismtop/profiles/unit"
	"prismtop/sim/workload"
)

// A launcher that starts its workers again, because one failed or because another machine joins (torchrun's
// --max-restarts and --nnodes=1:2): the loop of the first rank is then followed in another process.

const (
	// after which it is said that nobody trains: a program whose loop failed ends at once
	vacantSaid = time.Second
	vacantLook = 100 * time.Millisecond // between two looks for the next loop
)

// vacancy is the time between the end of a process and the start of the one in its place.
type vacancy struct {
	since  time.Time // zero while a process trains
	told   bool
	looked time.Time // whether the process is there
	dead   bool      // then
}

// vacant reports whether nobody trains at present.
func (v *vacancy) vacant() bool { return !v.since.IsZero() }

// killed reports whether the process of the loop has ended without saying so, while its launcher goes on.
func (t *task) killed() bool {
	if t.Again == nil || t.Over == nil || t.dead || time.Since(t.looked) < aliveEvery {
		return t.dead
	}
	t.looked, t.dead = time.Now(), !t.Ring.Alive()
	return t.dead
}

// succeed waits a moment for the loop that a launcher starts in place of this one, and
// follows it. waits is false if there will be none.
func (t *task) succeed(ctx context.Context, out *workload.Outcome) (waits bool, err error) {
	if state := t.Ring.State(); t.Again == nil || t.programOver() || state == loop.Over || state == loop.Unpatched {
		return false, nil
	}
	if !t.vacant() {
		t.since = time.Now()
	}
	if next := t.Again(ctx, t.Ring); next != nil {
		return true, t.follow(ctx, next, out)
	}
	if !t.told && time.Since(t.since) > vacantSaid && !t.Ring.Alive() { // one that failed takes a moment to end
		t.told = true
		out.Said = append(out.Said,
			profiles.LogEntry{Text: fmt.Sprintf("process %d has ended; %s goes on, and may start it again", t.Ring.PID,
				t.name), Refused: true})
		t.ranks.shown = time.Time{}
		out.Ranks = t.ranks.state()
	}
	select {
	case <-ctx.Done():
		return true, ctx.Err()
	case <-t.Over:
	case <-time.After(vacantLook):
	}
	return true, nil
}

var errOther = errors.New("the launcher has started a loop with other phases, series or knobs: start prismtop again")

// follow follows the loop of another process from its first step on, under the settings in force.
func (t *task) follow(ctx context.Context, next *Loop, out *workload.Outcome) error {
	schema := Schema(next.Greeting)
	if schema.Extends(&t.schema) && len(schema.Beyond(&t.schema)) > 0 {
		schema.Caches, schema.Memory = t.schema.Caches, t.schema.Memory
		t.schema, out.Grown = schema, &schema
	} else if !t.schema.Extends(&schema) {
		return errOther
	}
	t.stopBeating()
	before := t.Ring.World
	for _, r := range t.rings() {
		r.Remove()
		r.Close()
	}
	t.plan.leave(t)
	wanted := t.settings
	if t.waiting != nil {
		wanted = *t.waiting
	}
	*t.Loop = *next
	t.vacancy, t.ranks = vacancy{}, newRanks(t.Loop, before > 1)
	t.asked, t.trying, t.granted, t.marked = loop.Settings{}, false, 0, false
	t.lost, t.layers, t.pictures = 0, nil, nil
	t.settings = initial(t.Greeting, wanted.Table())
	t.stopBeating = t.beat()
	text := fmt.Sprintf("the launcher has started its workers again: process %d, ", t.Ring.PID) +
		unit.Plural(t.Ring.World, "rank", "ranks")
	if t.Ring.World != before {
		text += fmt.Sprintf(" (%d before)", before)
	}
	out.Said = append(out.Said, profiles.LogEntry{Text: text})
	if t.Locked != "" {
		out.Said = append(out.Said, profiles.LogEntry{Text: t.Locked})
	}
	out.Ranks = t.ranks.state()
	waited := t.waiting != nil
	t.waiting = nil
	err := t.apply(ctx, wanted, wanted)
	switch {
	case err == nil && waited:
		out.Forced = &wanted
	case errors.As(err, new(*apartError)):
		t.postpone(wanted, err, out)
	case workload.Refused(err):
		now := t.withKnobs(wanted, t.settings, func(*loop.Knob) bool { return true })
		out.Forced = &now
		out.Said = append(out.Said, profiles.LogEntry{Text: "the settings from before are not in force: " + err.Error(),
			Refused: true})
	default:
		return err
	}
	return nil
}
