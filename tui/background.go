package tui

import (
	"context"
	"fmt"
	"io"

	"github.com/charmbracelet/x/term"

	"prismtop/profiles"
	"prismtop/tui/terminal"
)

// This file is the screen of a program that runs in the background of its shell, where
// the system stops whoever reads the terminal or sets its modes.

// standAside lets the run go on without a screen while the program is in the background.
// It returns when the shell brings it to the foreground, or reports that the run is over
// or ctx has ended, with what Run then returns.
func standAside(ctx context.Context, source Source, o Options) (over bool, err error) {
	in, ok := o.Input.(term.File)
	if !ok || terminal.InForeground(in.Fd()) {
		return false, nil
	}
	fmt.Fprint(o.Output, "prismtop: the run goes on in the background; fg shows the screen\n")
	aside, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		terminal.AwaitForeground(in.Fd(), aside.Done())
		stop()
	}()
	last := await(aside, source)
	switch {
	case ctx.Err() != nil:
		stopSource(source)
		return true, context.Cause(ctx)
	case last == nil || !ended(last.State):
		return false, nil
	}
	stopSource(source)
	notices := newNotifier(o.Notices, o.Environ)
	notices.tell(o.Output, last)
	if o.Summary != nil {
		_, err = io.WriteString(o.Output, o.Summary(last, last.State.String(), o.Cores, terminal.Columns(o.Output)))
	}
	return true, err
}

// await is the newest snapshot once the run has ended, its snapshots have, or ctx is done.
func await(ctx context.Context, source Source) (last *profiles.Snapshot) {
	for {
		select {
		case <-ctx.Done():
			return last
		case s, ok := <-source.Snapshots():
			if s != nil {
				last = s
			}
			if !ok || s != nil && ended(s.State) {
				return last
			}
		}
	}
}

// stopSource ends a run where that can be.
func stopSource(source Source) {
	if s, ok := source.(Stopper); ok {
		s.Stop()
	}
}
