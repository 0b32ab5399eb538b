package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/watching"
	"prismtop/sim"
	"prismtop/tui/control"
	"prismtop/tui/lines"
	"prismtop/tui/screen"
	"prismtop/tui/terminal"
)

// lineInterval is the time between two progress lines.
const lineInterval = 10 * time.Second

// metricsInterval is the interval at which a run is compared with the truth.
const metricsInterval = 500 * time.Millisecond

// onScreen are the options of an aggregator whose snapshots are shown on a screen.
func onScreen(budget float64) aggregate.Options {
	return aggregate.Options{
		Pictures: 300 * time.Millisecond,
		Watching: watching.New(watching.Options{Budget: budget, Seed: rand.Uint64()}),
	}
}

// live is a run as the screen sees it.
type live struct {
	*sim.Run
	aggregator *aggregate.Aggregator
}

// Snapshots delivers the newest snapshot.
func (l live) Snapshots() <-chan *profiles.Snapshot { return l.aggregator.Snapshots() }

// Attend reports a user's input.
func (l live) Attend() { l.aggregator.Attend() }

// aggregate starts aggregating; end takes what is left and returns when that is done.
func (l live) aggregate() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		l.aggregator.Run(ctx, 100*time.Millisecond)
		close(ended)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// watch runs the reconstruction with the screen, or with lines of text.
func (f *runFlags) watch(ctx context.Context, out io.Writer, show live, look screen.Options) error {
	signalled := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer show.aggregate()()
	show.Start(ctx)
	go func() {
		var crash *sim.PanicError
		var wrong *sim.SettingsError
		if err := show.Wait(); errors.As(err, &crash) || errors.As(err, &wrong) {
			cancel(err) // closes the screen, which restores the terminal
		}
	}()
	var err error
	var last *profiles.Snapshot
	if f.lines {
		last, err = lines.Watch(ctx, os.Stdin, out, show, inLines(look), lineInterval)
	} else {
		err = screen.Run(ctx, show, look)
	}
	show.Stop()
	runErr := show.Wait()
	var wrong *sim.SettingsError
	if errors.As(runErr, &wrong) {
		return runErr
	}
	if last != nil && last.Run.Schema.Workload != "" { // otherwise the run had not started
		if last.State <= profiles.Paused { // the snapshot predates the stop
			stopped := *last
			stopped.State, last = profiles.Stopped, &stopped
		}
		fmt.Fprint(out, lines.SummaryWithin(last, terminal.Columns(out)))
	}
	var crash *sim.PanicError
	switch {
	case errors.As(runErr, &crash):
		return runErr
	case errors.Is(err, control.ErrInterrupted) || signalled.Err() != nil:
		return errInterrupted
	}
	return errors.Join(runErr, err)
}
