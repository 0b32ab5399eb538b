package sim

import (
	"context"
	"errors"

	"prismtop/profiles/settings"
	"prismtop/sim/experiment"
)

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
	f, err := experiment.NewFork(l.work, l.base(), &l.info.Schema, l.quality, c.before, c.iteration)
	if err != nil {
		l.run.stream.Refuse("not forked: " + err.Error())
		return
	}
	l.fork = f
	l.run.stream.Log("fork of " + f.Key() + " began")
	l.run.stream.Fork(f.View())
}

// forkHere has the fork under way run a pair of arms from the present iteration. A comparison comes first.
func (l *loop) forkHere(cut context.Context) error {
	if l.fork == nil || l.comparison != nil {
		return nil
	}
	news, ended, err := l.fork.Pair(cut, experiment.Point{Task: l.work, Settings: l.settings, Index: l.index, Interrupted: l.run.pending.Load})
	switch {
	case err != nil:
		return err
	case ended != "":
		l.endFork(ended)
	case news:
		l.run.stream.Fork(l.fork.View())
	}
	return nil
}

// endFork ends a fork, if one is under way.
func (l *loop) endFork(why string) {
	f := l.fork
	if f == nil {
		return
	}
	l.fork = nil
	l.run.stream.Fork(f.End(why))
	l.run.stream.Log("fork of " + f.Key() + " ended: " + why)
}
