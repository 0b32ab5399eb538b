package outside

import (
	"cmp"
	"context"
	"errors"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/loop"
	"prismtop/profiles/visible"
	"prismtop/sim/workload"
)

// This file has a loop go back to where it was: it keeps a copy of its state and waits, and takes the steps of an arm
// from there, again and again. The batches of the first arm are given to the others, too.

const (
	markAgain    = time.Second      // between two attempts to mark a loop whose epoch has too few steps left
	unmarkWithin = 10 * time.Second // for the last answer
)

// Fixed returns why the loop cannot go back, as it said itself.
func (t *task) Fixed() error {
	if why := t.Greeting.Able["fork"]; why != "" {
		return errors.New(visible.Text(why))
	}
	return nil
}

var errLater = errors.New("the epoch has too few steps left")

// Mark keeps the loop's state and has it wait.
func (t *task) Mark(ctx context.Context) error {
	if time.Now().Before(t.markNot) {
		return errLater
	}
	s := t.asked
	s.State, s.Steps, s.LeaseMS, s.After = loop.KeepState, profiles.ForkArm+1, int(lease.Milliseconds()), nil
	t.held, t.granted, t.outcome = true, 0, 0
	why, err := t.send(ctx, s)
	if err == nil && t.outcome == loop.Kept {
		t.marked, t.base = true, t.settings
		t.before, t.queue = t.queue, nil
		return nil
	}
	t.markNot = time.Now().Add(markAgain)
	if err := t.letGo(ctx, ""); err != nil {
		return err
	}
	if reason := cmp.Or(why["state"], why[""]); err == nil && reason != "" {
		return &workload.RefusedError{Err: errors.New(visible.Text(reason))}
	}
	return cmp.Or(err, errLater)
}

// Return has the loop go back to its mark, under the settings in force. A refusal is a workload.RefusedError: the loop
// then goes on from where it is.
func (t *task) Return(ctx context.Context) error {
	s, zero := t.asked, 0
	s.State, s.Warm = loop.ReturnToState, &zero
	t.granted, t.outcome = 0, 0
	why, err := t.send(ctx, s)
	t.queue = nil // steps of the arm
	if err == nil && t.outcome != loop.Returned {
		err = &workload.RefusedError{Err: errors.New("the loop cannot go back: " +
			cmp.Or(visible.Text(why["state"]), "it did not answer"))}
	}
	return err
}

// Unmark has the loop go on.
func (t *task) Unmark() {
	ctx, stop := context.WithTimeout(context.Background(), unmarkWithin)
	defer stop()
	t.marked = false
	_ = t.letGo(ctx, loop.DropState)
	t.queue = append(t.before, t.queue...)
	t.before = nil
}

// letGo has a loop that waits go on, unless it is paused.
func (t *task) letGo(ctx context.Context, state string) error {
	s := t.asked
	s.State, s.LeaseMS, s.After = state, 0, nil
	t.held, t.granted = t.paused, 0
	_, err := t.send(ctx, s)
	return err
}
