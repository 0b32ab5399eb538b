package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim"
	"prismtop/tui/command/cli"
	"prismtop/tui/control"
	"prismtop/tui/lines"
	"prismtop/tui/notice"
	"prismtop/tui/screen"
	"prismtop/tui/terminal"
)

// lineInterval is the time between two progress lines.
const lineInterval = 10 * time.Second

// watch runs the reconstruction with the screen, or with lines of text.
func (f *runFlags) watch(ctx context.Context, out io.Writer, show exportable, look screen.Options) error {
	signalled := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer show.Aggregate()()
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
		return cli.ErrInterrupted
	}
	return errors.Join(runErr, err)
}

// parseBudget converts a percentage to a share.
func parseBudget(text string) (share float64, err error) {
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return 0, fmt.Errorf("%q: must be a percentage from 0, no limit, to 100", text)
	}
	return percent / 100, nil
}

// look returns the screen's options.
func (f *runFlags) look(flags *pflag.FlagSet, v settings.Values) (o screen.Options, err error) {
	if o, err = f.Look.Options(flags); err != nil {
		return o, err
	}
	o.Settings, o.Origins, o.Summary = v, f.origins, lines.SummaryAs
	budget, where := cli.EnvOr(flags, "watch-budget", cli.EnvWatchBudget)
	if f.watchBudget, err = parseBudget(budget); err != nil {
		return o, cli.BadUsage(fmt.Errorf("%s: %w", where, err))
	}
	notify, where := cli.EnvOr(flags, "notify", cli.EnvNotify)
	if o.Notices, err = notice.Parse(notify); err != nil {
		return o, cli.BadUsage(fmt.Errorf("%s: %w", where, err))
	}
	if f.lines && (f.headless || f.json) {
		return o, cli.BadUsage(errors.New("flag --lines: cannot be joined with --headless or --json"))
	}
	return o, nil
}

// inLines converts the screen's options to those of a run in lines of text.
func inLines(o screen.Options) lines.Options {
	return lines.Options{ASCII: o.ASCII, Cores: o.Cores, Notices: o.Notices, Settings: o.Settings, Environ: o.Environ}
}
