package sim

import (
	"context"

	"prismtop/sim/experiment"
)

// Forks at the boundary: started, run, and ended.

// startFork starts comparing the result under the current settings with that under the settings before a change,
// unless a fork is under way. Iterations of the comparison are not recorded; afterwards the run continues from where
// it was. Changing a setting ends the fork.
func (l *loop) startFork(c command) {
	if l.finished {
		return
	}
	if l.fork != nil {
		l.decline("not forked: a fork is under way")
		return
	}
	f, err := experiment.NewFork(l.work, l.base(), &l.info.Schema, l.view.quality, c.Settings, c.At)
	if err != nil {
		l.decline("not forked: " + err.Error())
		return
	}
	l.fork = f
	l.run.stream.Log("fork of " + f.Key() + " began")
	l.run.stream.Fork(f.View())
}

// forkHere has the fork under way run a pair of arms from the present iteration. A comparison comes first.
func (l *loop) forkHere(cut context.Context) error {
	if l.fork == nil || l.comparing.now != nil {
		return nil
	}
	news, ended, err := l.fork.Pair(cut, experiment.Point{Task: l.work, Settings: l.settings, Index: l.index,
		Interrupted: l.run.pending.Load})
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
