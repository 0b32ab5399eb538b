package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/export"
	"prismtop/profiles/recording"
	"prismtop/profiles/stream"
	"prismtop/profiles/visible"
	"prismtop/sim/cpu/features"
	"prismtop/tui/command/cli"
	"prismtop/tui/lines"
	"prismtop/tui/screen"
	"prismtop/tui/terminal"
)

// report runs the reconstruction with its progress on standard error and the
// summary on standard output. closing ends the recording.
func (f *runFlags) report(cmd *cobra.Command, show cli.Live, look screen.Options, presetName string,
	closing func() (recording.Pruned, error)) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	aggregating, stopAggregating := context.WithCancel(context.Background())
	show.Start(ctx)
	go func() {
		<-show.Done()
		stopAggregating()
	}()
	go show.Aggregator.Run(aggregating, 100*time.Millisecond)
	printed := inLines(look)
	printed.Quiet = cli.Quiet(cmd)
	lines.Plain(context.Background(), cmd.ErrOrStderr(), show, printed, time.Second)
	err := show.Wait()
	<-aggregating.Done()
	for range show.Snapshots() { // until the last snapshot
	}
	last := show.Aggregator.Last()
	summary := export.Summarize(last, export.Source{
		Version: cli.Version, Preset: presetName, CPU: features.Detect(), Threads: show.Threads(),
	})
	if f.json {
		pruned, _ := closing() // whose error is the command's
		for _, d := range pruned.Deleted {
			summary.Deleted = append(summary.Deleted, export.DeletedRecording(d))
		}
		err = errors.Join(err, export.WriteJSON(out, summary))
		for _, a := range last.Alerts { // which the text of the summary has
			fmt.Fprintln(cli.Notes(cmd), "prismtop: "+visible.Text(a.What))
		}
	} else {
		_, writeErr := io.WriteString(out, lines.SummaryWithin(last, terminal.Columns(out)))
		err = errors.Join(err, writeErr)
	}
	if disturbed := last.Load.Disturbed(); disturbed != "" {
		fmt.Fprintln(cli.Notes(cmd), "prismtop: "+disturbed)
	}
	if err == nil && ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	return err
}

// writeNotBegun writes the JSON summary of a run that failed or was interrupted during its
// preparation.
func writeNotBegun(ctx context.Context, w io.Writer, events *stream.Stream, schema profiles.Schema, presetName string,
	err error) error {
	if ctx.Err() != nil {
		events.State(profiles.Stopped, "")
	} else {
		events.State(profiles.Failed, err.Error())
	}
	s := *aggregate.New(events.Follow(), aggregate.Options{}).Tick(time.Now())
	s.Run.Schema = schema // no task has declared one
	return export.WriteJSON(w, export.Summarize(&s, export.Source{
		Version: cli.Version, Preset: presetName, CPU: features.Detect(),
	}))
}
