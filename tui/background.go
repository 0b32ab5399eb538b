package tui

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/charmbracelet/x/term"

	"prismtop/tui/terminal"
)

// This file is the screen of a program that runs in the background of its shell, where
// the system stops whoever reads the terminal or sets its modes.

// standAside lets the run go on without a screen while the program is in the background.
// It returns when the shell brings it to the foreground, or reports that the run is over
// or ctx has ended, with what Run then returns.
func standAside(ctx context.Context, c Controller, o Options) (over bool, err error) {
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
	last := Plain(aside, io.Discard, c, time.Second)
	switch {
	case ctx.Err() != nil:
		c.Stop()
		return true, context.Cause(ctx)
	case last == nil || !ended(last.State):
		return false, nil
	}
	c.Stop()
	notices := newNotifier(o.Notices, o.Environ)
	notices.tell(o.Output, last)
	if !o.NoSummary {
		_, err = io.WriteString(o.Output, SummaryWithin(last, Columns(o.Output)))
	}
	return true, err
}
