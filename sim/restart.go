package sim

import (
	"context"
	"fmt"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// Restarting a run, and its state as published.

// restart starts again from the seed's initial weights. If that is impossible, the run
// continues unchanged.
func (l *loop) restart(cut context.Context) error {
	before := l.base()
	v := before
	if l.next != nil {
		v = *l.next
	}
	l.endFork("the run was restarted")
	l.checkpointBeforeRestart(cut)
	c, err := l.another(cut, v, l.fitsBeside(v))
	if err != nil || c.work == nil {
		return err
	}
	if err := l.comparing.stop(cut, "the run was restarted"); err != nil {
		return err
	}
	l.restarts++
	paused, earlier := l.paused, l.checkpoints.path()
	l.paused = false
	l.begin(l.run, c, nil)
	checkpoints := ""
	if now := l.checkpoints.path(); now != earlier {
		checkpoints = fmt.Sprintf("; its checkpoints go to %s, %s stays", now, earlier)
	}
	l.run.stream.Log("restarted from " + l.run.firstWeights() + with(v, before) + checkpoints)
	l.changes.suspended(before, l.settings)
	l.run.stream.State(profiles.Running, "")
	if paused {
		return l.pause(cut, true)
	}
	return nil
}

// fitsBeside reports whether memory can hold the task of a restart in addition to the current one. On a GPU the current
// one makes room: the memory that it holds there is not the host's.
func (l *loop) fitsBeside(v settings.Values) bool {
	if d := l.work.Device(); d != nil && d.Device() != "cpu" {
		return false
	}
	held := l.work.Memory()
	return l.run.options.Maker.FitsBeside(v, held.Total())
}

// another makes the workload of a restart while the current one still exists. If that
// fails, the current one continues, the log gives the reason, and c has no workload. If
// memory cannot hold both, the current one is closed once the inputs are loaded, and any
// later failure is returned as an error.
func (l *loop) another(cut context.Context, v settings.Values, beside bool) (c candidate, err error) {
	stream := l.run.stream
	running := !l.paused && !l.finished
	if running {
		l.running.stop(time.Now())
	}
	stream.State(profiles.Preparing, "")
	maker, inputs := l.run.options.Maker, l.run.inputs
	if !maker.SameInputs(v, l.settings) {
		inputs, err = maker.Load(cut, v)
	}
	given := err == nil && !beside
	if given {
		if err := l.comparing.stop(cut, "the run was restarted"); err != nil {
			return c, err
		}
		l.close()
	}
	if err == nil {
		c, err = l.run.build(cut, v, inputs)
	}
	switch {
	case err == nil:
		return c, nil
	case cut.Err() != nil:
		l.announceState()
		return c, cut.Err()
	case given:
		return c, fmt.Errorf("restart, after the run before had to make room for it: %w", err)
	}
	l.decline("not restarted: " + err.Error())
	if running {
		l.running.start(time.Now())
	}
	l.announceState()
	return c, nil
}

// firstWeights describes the weights of a new start.
func (r *Run) firstWeights() string {
	if r.options.Weights != "" {
		return "the weights of " + r.options.Weights
	}
	return "the first weights of the seed"
}

// announceState publishes the state of the run.
func (l *loop) announceState() {
	switch {
	case l.finished:
		l.announceEnd()
	case l.paused:
		l.run.stream.State(profiles.Paused, "")
	default:
		l.run.stream.State(profiles.Running, "")
	}
}

// with lists the settings that differ from before: " with radius = 24".
func with(v, before settings.Values) string {
	if changes := v.ChangesFrom(before); changes != "" {
		return " with " + changes
	}
	return ""
}
