package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/sessions"
	"prismtop/tui/control"
	"prismtop/tui/lines"
	"prismtop/tui/notice"
	"prismtop/tui/screen"
	"prismtop/tui/terminal"
)

// lineInterval is the time between two progress lines.
const lineInterval = 10 * time.Second

// watch runs the reconstruction with the screen, or with lines of text.
func (f *runFlags) watch(ctx context.Context, out io.Writer, show exportable, look screen.Options,
	host *sessions.Host) error {
	signalled := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	endAggregating := sync.OnceFunc(show.Aggregate())
	defer endAggregating()
	show.Start(ctx)
	go func() {
		var crash *sim.PanicError
		var wrong *sim.SettingsError
		err := show.Wait()
		if err == nil && host.Serves() { // perhaps another screen stopped it
			err = errRunEnded
		}
		if errors.As(err, &crash) || errors.As(err, &wrong) || errors.Is(err, errRunEnded) {
			cancel(err) // closes the screen, which restores the terminal
		}
	}()
	go func() {
		select {
		case <-host.Stopped():
			cancel(errRunEnded)
		case <-ctx.Done():
		}
	}()
	var err error
	var last *profiles.Snapshot
	switch {
	case f.child != nil:
		last, _ = goOn(ctx, show.Live, look, host, false)
	case f.lines:
		last, err = lines.Watch(ctx, os.Stdin, out, inText{show}, inLines(look), lineInterval)
	default:
		last, err = onScreens(ctx, show, look, host)
	}
	if errors.Is(err, errRunEnded) {
		err = nil
	}
	show.Stop()
	runErr := show.Wait()
	var wrong *sim.SettingsError
	if errors.As(runErr, &wrong) {
		return runErr
	}
	if endAggregating(); last != nil {
		last = show.Aggregator.Last() // which has what came after the screen's last snapshot
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

// errRunEnded closes the screen of a run that another screen, or prismtop stop, has ended.
var errRunEnded = errors.New("the run has ended")

// operated is a live run as the screen in its process operates it.
type operated struct {
	*sessions.Screen
	*exporter
}

// inText is a live run as the user of lines of text operates it.
type inText struct{ exportable }

// Do asks for a command in the user's name.
func (t inText) Do(c profiles.Command) error {
	c.By = sessions.Who()
	return t.exportable.Do(c)
}

// onScreens shows the run until its screen ends, again whenever the shell brings the process back to the
// foreground. last is the newest snapshot of a run that ended without a screen.
func onScreens(ctx context.Context, show exportable, look screen.Options, host *sessions.Host) (last *profiles.Snapshot,
	err error) {
	var returned *os.File // the terminal that the shell gave back
	for {
		err = onScreen(ctx, show, look, host)
		if returned != nil {
			_ = returned.Close()
		}
		if !leftGoing(err) {
			return nil, err
		}
		last, back := goOn(ctx, show.Live, look, host, errors.Is(err, control.ErrDetached))
		if back == nil {
			return last, nil
		}
		if err := host.Return(back); err != nil {
			_ = back.Close()
			return last, err
		}
		returned = back
		look.Input, look.Leave.Greeting = back, ""
	}
}

// onScreen shows the run until its screen ends. If the run goes on without it, this process no
// longer has a terminal.
func onScreen(ctx context.Context, show exportable, look screen.Options, host *sessions.Host) error {
	for {
		err := screen.Run(ctx, operated{host.Screen(show.Live), show.exporter}, look)
		host.Leave()
		if !leftGoing(err) {
			return err
		}
		sessions.OutliveTerminal()
		if errors.Is(err, control.ErrDetached) {
			if refused := sessions.ToShell(); refused != nil {
				look.Leave.Greeting = notLeft(refused)
				continue
			}
		}
		host.Shut()
		return err
	}
}

// notLeft says why a run was not left for the shell.
func notLeft(refused error) string {
	return "not left: " + refused.Error() + "; prismtop run --detach begins a run without a terminal"
}

// leftGoing reports whether a screen ended with its run going on.
func leftGoing(err error) bool {
	return errors.Is(err, control.ErrDetached) || errors.Is(err, control.ErrHungUp)
}

// logInterval is the time between two lines about a run in its log.
const logInterval = time.Minute

// goOn waits for the end of a run without a screen, and while an attached screen shows one that is
// over. If the screen was left for a shell, it also returns when that brings the process back, with the
// terminal.
func goOn(ctx context.Context, show cli.Live, look screen.Options, host *sessions.Host,
	left bool) (last *profiles.Snapshot, back *os.File) {
	aside, stop := context.WithCancel(ctx)
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		if left {
			if back = terminal.AwaitReturn(aside.Done()); back != nil {
				stop()
			}
		}
	}()
	for {
		last = lines.Plain(aside, os.Stderr, show, inLines(look), logInterval)
		if aside.Err() != nil || !host.Over(aside, show) {
			stop()
			<-returned
			return last, back
		}
	}
}

// begin begins the run in a process without a terminal.
func (f *runFlags) begin(cmd *cobra.Command) error {
	if f.headless || f.json || f.lines {
		return cli.BadUsage(errors.New("flag --detach: cannot be joined with --headless, --json or --lines: nobody " +
			"reads what they print"))
	}
	id, status, err := sessions.Begin(os.Args[1:])
	switch {
	case status == cli.StatusUsage:
		return cli.BadUsage(err)
	case err != nil:
		return err
	}
	fmt.Fprintf(cli.Notes(cmd),
		"prismtop: the run goes on as session %[1]s: prismtop attach %[1]s shows it, prismtop stop %[1]s ends it\n", id)
	_, err = fmt.Fprintln(cmd.OutOrStdout(), id)
	return err
}

// serve makes the run a session. One on a screen goes on without, if that is impossible.
func (f *runFlags) serve(host *sessions.Host, show cli.Live, look *screen.Options, events *stream.Stream,
	recorder *recording.Recorder) error {
	if !terminal.JobControl {
		return nil // no system for sessions
	}
	recorded := ""
	if recorder != nil {
		recorded = recorder.Path()
	}
	err := host.Serve(show, recorded)
	switch {
	case err == nil && f.child != nil:
		sessions.OutliveTerminal()
		return f.child.Begun(host)
	case f.child != nil:
		return err
	case f.session != "":
		if err == nil {
			host.Begin()
			err = atomicfile.Write(f.session, []byte(host.ID()+"\n"), 0o600)
		}
		if err != nil {
			events.Refuse("no screen can attach: " + err.Error())
		}
		return nil
	case err != nil:
		events.Refuse("cannot be left going: " + err.Error())
		return nil
	}
	look.Leave = screen.Leave{Text: host.Farewell(), OnHangup: f.outlives}
	if refused := terminal.Shell(); refused != nil {
		look.Leave.Stays = notLeft(refused)
	}
	text := "session " + host.ID() + " can be left going"
	if f.outlives {
		sessions.OutliveTerminal()
		text += ", as the loss of the terminal does"
	}
	events.Log(text)
	return nil
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
	o.Settings, o.Origins, o.Summary, o.Advice = v, f.origins, lines.SummaryAs, cli.Quoted()
	budget, where := cli.EnvOr(flags, "watch-budget", cli.EnvWatchBudget)
	if f.watchBudget, err = parseBudget(budget); err != nil {
		return o, cli.BadUsage(fmt.Errorf("%s: %w", where, err))
	}
	onHangup, where := cli.EnvOr(flags, "on-hangup", cli.EnvOnHangup)
	if f.outlives, err = sessions.DetachesOnHangup(onHangup, os.Getenv); err != nil {
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
