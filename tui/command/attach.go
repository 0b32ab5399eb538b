package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/attach"
	"prismtop/profiles/recording"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/sessions"
	"prismtop/tui/control"
	"prismtop/tui/keys"
	"prismtop/tui/lines"
	"prismtop/tui/notice"
	"prismtop/tui/screen"
)

// attachCommand returns the command attach.
func attachCommand() *cobra.Command {
	var f runFlags
	var take, watch bool
	var pid int
	var roleName string
	cmd := &cobra.Command{
		Use: "attach [SESSION | JOB]", Short: "Reattach the screen to a running session", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return cli.BadUsage(errors.New("attach: wants one session; prismtop sessions lists them"))
			case cmd.Flags().Changed("pid") && (len(args) > 0 || take || watch || cmd.Flags().Changed("role")):
				return cli.BadUsage(errors.New("flag --pid: cannot be joined with a session or the flags of one"))
			case cmd.Flags().Changed("pid"):
				return adoptAlone(cmd, strconv.Itoa(pid))
			case take && watch:
				return cli.BadUsage(errors.New("flag --take: cannot be joined with --watch"))
			}
			role, err := attach.ParseRole(roleName)
			switch {
			case err != nil:
				return cli.BadUsage(fmt.Errorf("flag --role: %w", err))
			case take && role < attach.Operator:
				return cli.BadUsage(fmt.Errorf("flag --take: cannot be joined with --role %s", role))
			}
			if id := strings.Join(args, ""); isJob(cmd.Context(), id) {
				return attachJob(cmd, id, take, watch, roleName)
			}
			return f.attach(cmd, strings.Join(args, ""), attach.ClientOptions{
				Version: cli.Version, Who: sessions.Who(), Role: role, Take: take, Watch: watch, Table: cli.TableOf})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&take, "take", false, "operate the run even if another screen does, which then only watches it")
	flags.IntVar(&pid, "pid", 0, "show the PyTorch loop of this process, which runs already; needs CPython 3.14 if "+
		"prismtop python did not start it")
	flags.BoolVar(&watch, "watch", false, "only watch the run, until you ask to operate it")
	flags.StringVar(&roleName, "role", attach.Operator.String(),
		"what the screen may do at most: viewer, annotator (also notes), or operator")
	f.Look.Register(flags)
	flags.StringVar(&f.notify, "notify", "off",
		"how to tell that the run finished, failed or stalled, as of prismtop run")
	return cmd
}

// adoptAlone is prismtop python --pid.
func adoptAlone(cmd *cobra.Command, id string) error {
	c := pythonCommand()
	args := []string{"--pid", id}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "pid" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	c.SetArgs(args)
	c.SetOut(cmd.OutOrStdout())
	c.SetErr(cmd.ErrOrStderr())
	c.SilenceUsage, c.SilenceErrors = true, true
	return c.ExecuteContext(cmd.Context())
}

// attach shows a session on the screen.
func (f *runFlags) attach(cmd *cobra.Command, id string, o attach.ClientOptions) error {
	look, err := f.Look.Options(cmd.Flags())
	if err != nil {
		return err
	}
	notify, where := cli.EnvOr(cmd.Flags(), "notify", cli.EnvNotify)
	if look.Notices, err = notice.Parse(notify); err != nil {
		return cli.BadUsage(fmt.Errorf("%s: %w", where, err))
	}
	found, err := sessions.Named(sessions.All(cmd.Context()), id)
	if err != nil {
		if sessions.Ended(id) {
			n := notice.New(look.Notices, os.Environ())
			fmt.Fprint(cmd.ErrOrStderr(), n.Missed("session "+id+" has ended"))
		}
		return fmt.Errorf("attach: %w", err)
	}
	if found.Path == "" {
		return adoptAlone(cmd, found.ID)
	}
	if !term.IsTerminal(os.Stdout.Fd()) || !term.IsTerminal(os.Stdin.Fd()) || os.Getenv("TERM") == "dumb" {
		return errors.New("attach: needs a terminal; prismtop sessions --json says how far the runs are")
	}
	if err := cli.ReadKeys(cmd.Context(), &look); err != nil {
		return err
	}
	return attachTo(cmd, found, look, o)
}

// attachTo shows a session that was found.
func attachTo(cmd *cobra.Command, found attach.Found, look screen.Options, o attach.ClientOptions) error {
	client, err := attach.Attach(cmd.Context(), found.Path, o)
	if err != nil {
		return fmt.Errorf("attach: session %s: %w", found.ID, err)
	}
	cli.ThriftyCollector()
	look.Summary, look.Advice = lines.SummaryAs, cli.Quoted()
	look.Leave = screen.Leave{Text: sessions.Farewell(found.ID), OnHangup: true, Always: true,
		Greeting: greeting(client, time.Now(), look.Keys), Missed: stalled(client.Away())}
	ctx, stop := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer stop()
	var why string
	ended := make(chan error, 1)
	go func() {
		var err error
		why, err = client.Run(ctx)
		ended <- err
	}()
	exports := exportsAttached(client.Info().Recording)
	err = screen.Run(cmd.Context(), attachedRun{client, exports}, look)
	exports.end()
	switch {
	case leftGoing(err):
		return nil
	case errors.Is(err, control.ErrInterrupted) || cmd.Context().Err() != nil:
		return cli.ErrInterrupted
	case err != nil:
		return err
	}
	if err = awaitEnd(cmd.Context(), ended, endLimit); errors.Is(err, cli.ErrInterrupted) {
		return err
	} else if err != nil {
		return fmt.Errorf("session %s: %w", found.ID, err)
	}
	if why != "" {
		text := fmt.Sprintf("prismtop: session %s has ended: %s", found.ID, visible.Text(why))
		if log := client.Info().Log; log != "" {
			text += "; what it saved, and how to continue it: " + visible.Text(log)
		}
		fmt.Fprintln(cmd.ErrOrStderr(), text)
	}
	return nil
}

// attachedRun is a run in another process that can be exported by key, from its recording.
type attachedRun struct {
	*attach.Client
	*exporter
}

// exportsAttached returns the exporter of a run with a recording; the path is empty for none.
func exportsAttached(path string) *exporter {
	return newExporter(func(ctx context.Context) (*recording.Reader, error) {
		if path == "" {
			return nil, errors.New("the run is not recorded")
		}
		return recording.Open(ctx, path, cli.TableOf)
	})
}

// endLimit is how long an attached screen waits for the end of a run that was told to end, to say how it ended.
const endLimit = 10 * time.Second

// errGoesOn reports a run that was told to end and has not in time.
var errGoesOn = errors.New("it was told to end and does not answer: it ends once its process goes on; prismtop " +
	"sessions shows it")

// awaitEnd waits for the end of a session that was told to end, or has ended, and returns the error of following it.
func awaitEnd(ctx context.Context, ended <-chan error, limit time.Duration) error {
	select {
	case err := <-ended:
		return err
	case <-time.After(limit):
		return errGoesOn
	case <-ctx.Done():
		return cli.ErrInterrupted
	}
}

// missed lists what happened while no screen showed a run.
func missed(a attach.Away, i attach.Info) string {
	var what []string
	for _, each := range []struct {
		n         int
		one, many string
	}{{a.Changes, "change", "changes"}, {a.Alerts, "alert", "alerts"}, {a.Notes, "note", "notes"},
		{a.Units, i.Unit, i.UnitMany}} {
		if each.n > 0 {
			what = append(what, unit.Plural(each.n, each.one, each.many))
		}
	}
	if len(what) == 0 {
		return "no change, no alert"
	}
	return strings.Join(what, ", ")
}

// stalled says that a run stalled while no screen showed it, "" if it did not.
func stalled(a attach.Away) string {
	if a.Stalls == 0 {
		return ""
	}
	return "the run stalled while no screen showed it"
}

// away says what happened while no screen showed a run; nothing to the first screen if nothing did.
func away(a attach.Away, i attach.Info, now time.Time) string {
	ago := unit.Clock(max(0, now.Sub(a.Since)))
	switch {
	case a.Since.IsZero() || a.Began && a.Changes+a.Alerts+a.Notes+a.Units == 0:
		return ""
	case a.Began:
		return fmt.Sprintf("since the run began %s ago: %s", ago, missed(a, i))
	}
	return fmt.Sprintf("since you left %s ago: %s", ago, missed(a, i))
}

// greeting says what a screen that attaches has missed, and whether it operates the run.
func greeting(c *attach.Client, now time.Time, own *keys.Own) string {
	var parts []string
	if text := away(c.Away(), c.Info(), now); text != "" {
		parts = append(parts, text)
	}
	if now := c.Control(); !now.Operates {
		operator := cmp.Or(now.Operator, "no screen") + " has control"
		if c.Role() >= attach.Operator {
			named, _ := keys.For(nil, own)
			operator += named.Say(": {control|asking} asks for it")
		}
		parts = append(parts, operator)
	}
	return strings.Join(parts, " · ")
}
