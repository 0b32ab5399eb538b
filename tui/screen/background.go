package screen

import (
	"context"
	"fmt"
	"io"

	"github.com/charmbracelet/x/term"

	"prismtop/profiles"
	"prismtop/tui/control"
	"prismtop/tui/notice"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// This file runs the program without a screen while it is in the background of its shell, where
// the system stops processes that read the terminal or set its modes.

// standAside waits without a screen while the program is in the background. It returns over =
// false when the shell brings it to the foreground; over = true, with the error that Run then
// returns, when the run is over or ctx has ended.
func standAside(ctx context.Context, source control.Source, o Options) (over bool, err error) {
	in, ok := o.Input.(term.File)
	if !ok || terminal.InForeground(in.Fd()) {
		return false, nil
	}
	fmt.Fprint(o.Output, "prismtop: the run goes on in the background; fg shows the screen\n")
	aside, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		terminal.AwaitForeground(in.Fd(), aside.Done())
		cancel()
	}()
	last := await(aside, source)
	stop := func() { _ = source.Do(profiles.Command{Kind: profiles.StopCommand}) }
	switch {
	case ctx.Err() != nil:
		stop()
		return true, context.Cause(ctx)
	case last == nil || !words.Ended(last.State):
		return false, nil
	}
	stop()
	notices := notice.New(o.Notices, o.Environ)
	notices.Tell(o.Output, last)
	if o.Summary != nil {
		_, err = io.WriteString(o.Output, o.Summary(last, last.State.String(), o.Cores, terminal.Columns(o.Output)))
	}
	return true, err
}

// await returns the newest snapshot when the run ends, its snapshots end, or ctx is done.
func await(ctx context.Context, source control.Source) (last *profiles.Snapshot) {
	for {
		select {
		case <-ctx.Done():
			return last
		case s, ok := <-source.Snapshots():
			if s != nil {
				last = s
			}
			if !ok || s != nil && words.Ended(s.State) {
				return last
			}
		}
	}
}
