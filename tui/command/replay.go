package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/machine"
	"prismtop/profiles/recording"
	"prismtop/profiles/recording/replay"
	"prismtop/profiles/unit"
	"prismtop/tui/command/cli"
	"prismtop/tui/control"
	"prismtop/tui/lines"
	"prismtop/tui/screen"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// replayCommand returns the command replay.
func replayCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "replay FILE", Short: "Play a recorded run on the screen, or tell what happened in it",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.BadUsage(errors.New("replay: wants one recording; prismtop runs lists them"))
			}
			return f.replay(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.headless, "headless", false,
		"without a screen: what happened, and the summary, on standard output")
	flags.BoolVar(&f.json, "json", false, "the summary as one JSON object (prismtop docs json); implies --headless")
	f.Look.Register(flags)
	return cmd
}

// replay plays a recording.
func (f *runFlags) replay(cmd *cobra.Command, path string) error {
	look, err := f.Look.Options(cmd.Flags())
	if err != nil {
		return err
	}
	named, done, err := cli.Traces(cmd.Context(), []string{path})
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer done()
	path, err = cli.RecordingNamed(cmd.Context(), named[0])
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	r, err := recording.Open(cmd.Context(), path, cli.TableOf)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer r.Close()
	if f.headless || f.json || !cli.OnTerminal() {
		return f.tell(cmd, r)
	}
	if err := cli.ReadKeys(cmd.Context(), &look); err != nil {
		return err
	}
	cli.ThriftyCollector()
	return playOnScreen(cmd.Context(), r, look)
}

// replayOnScreen plays the recording at a path on the screen.
func replayOnScreen(ctx context.Context, path string, look screen.Options) error {
	r, err := recording.Open(ctx, path, cli.TableOf)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer r.Close()
	return playOnScreen(ctx, r, look)
}

// followOnScreen shows the newest of a recording whose copies a task on another machine
// replaces, as long as runs reports that.
func followOnScreen(parent context.Context, path string, runs func() bool, look screen.Options) error {
	f, err := recording.Follow(parent, path, runs, cli.TableOf)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(parent)
	following := make(chan struct{})
	go func() {
		defer close(following)
		f.Run(ctx)
	}()
	err = playOnScreen(parent, f.Reader, look, profiles.Command{Kind: profiles.SeekCommand, At: math.MaxInt64})
	stop()
	<-following
	return errors.Join(err, f.Close())
}

// playOnScreen plays a recording on the screen, after some commands.
func playOnScreen(parent context.Context, r *recording.Reader, look screen.Options, first ...profiles.Command) error {
	ctx, stop := context.WithCancel(parent)
	player := replay.New(ctx, r)
	for _, c := range first {
		_ = player.Do(c) // none is refused
	}
	ended := make(chan error, 1)
	go func() { ended <- player.Run(ctx) }()
	exports := exportsReplayed(r.Path())
	err := screen.Run(parent, exportableReplay{player, exports}, look)
	exports.end()
	stop()
	if failed := <-ended; failed != nil {
		return fmt.Errorf("replay: %s: %w", r.Path(), failed)
	}
	if errors.Is(err, control.ErrInterrupted) || parent.Err() != nil {
		return cli.ErrInterrupted
	}
	return err
}

// tell prints what happened in a recorded run.
func (f *runFlags) tell(cmd *cobra.Command, r *recording.Reader) error {
	out := cmd.OutOrStdout()
	tell := func(line profiles.LogLine) {
		if !f.json {
			fmt.Fprintf(out, "%s %s\n", unit.Clock(line.At), words.Printed(line.Text))
		}
	}
	last, err := replay.Whole(cmd.Context(), r, tell)
	if cmd.Context().Err() != nil {
		return cli.ErrInterrupted
	}
	if last == nil {
		return errors.Join(err, fmt.Errorf("replay: %s: nothing was recorded", r.Path()))
	}
	status, unknown := r.Status(cmd.Context())
	err = errors.Join(err, unknown)
	if f.json {
		from, failed := sourceOf(cmd.Context(), r)
		return errors.Join(export.WriteJSON(out, export.Summarize(last, from)), err, failed)
	}
	state := last.State.String()
	switch {
	case unknown != nil: // why the rest is not known is in the error
	case status.Ending() != "":
		state += ", then " + status.Ending()
	case status.State == recording.Growing && !words.Ended(last.State):
		state += " (it goes on)"
	}
	_, wrote := io.WriteString(out, lines.SummaryAs(last, state, machine.Processors(), terminal.Columns(out)))
	return errors.Join(wrote, err)
}
