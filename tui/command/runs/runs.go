// Package runs is the command runs and what else works on several recorded runs.
package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/export"
	"prismtop/profiles/recording"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// Command returns the command runs.
func Command() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "runs", Short: "List the recorded runs, newest first", Args: cli.NoArguments,
		Long: "List the recordings in $XDG_STATE_HOME/prismtop/runs, newest first: when, preset, picture, length, iterations,\n" +
			"the median time of one, quality, size, and whether the run goes on, ended, or was killed. prismtop replay\n" +
			"plays one.",
		Example: "prismtop runs\nprismtop runs --json\nprismtop runs name 2026-11-22T13-57-48-moon \"threshold 0\"\nprismtop runs delete 2026-11-22T13-57-48-moon",
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := recording.Folder()
			if err != nil {
				return err
			}
			all, err := recording.List(cmd.Context(), folder)
			switch {
			case cmd.Context().Err() != nil:
				return cli.ErrInterrupted
			case err != nil:
				return fmt.Errorf("runs: %w", err)
			case asJSON:
				return export.WriteObject(cmd.OutOrStdout(), listAsJSON(folder, all))
			}
			return writeRuns(cmd.OutOrStdout(), folder, all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object (docs/recording.md)")
	cmd.AddCommand(describeRunCommand("name", "Name a recorded run"), describeRunCommand("note", "Write a note to a recorded run"), deleteRunsCommand())
	return cmd
}

// listedRun is a recorded run as JSON.
type listedRun struct {
	Path       string   `json:"path"`
	Bytes      int64    `json:"bytes"`
	Began      string   `json:"began"`
	State      *string  `json:"state"`
	Error      string   `json:"error,omitempty"` // why the file cannot be read
	Preset     string   `json:"preset,omitempty"`
	Workload   string   `json:"workload,omitempty"`
	Object     string   `json:"object,omitempty"`
	Ended      string   `json:"ended,omitempty"` // how the run itself ended
	Failure    string   `json:"failure,omitempty"`
	Starts     int      `json:"starts"`
	Iterations int64    `json:"iterations"`
	Seconds    float64  `json:"seconds"`
	MedianMS   *float64 `json:"iteration_ms_median"`
	Quality    *float64 `json:"quality"`
	QualityIs  string   `json:"quality_metric,omitempty"`
	Dropped    int64    `json:"dropped_records"`
	Stopped    string   `json:"recording_stopped,omitempty"` // why the recording stopped before the run
	Name       string   `json:"name,omitempty"`
	Note       string   `json:"note,omitempty"`
}

// list is the list of recorded runs as JSON.
type list struct {
	Schema int         `json:"schema"`
	Folder string      `json:"folder"`
	Runs   []listedRun `json:"runs"` // newest first
}

// listAsJSON converts the recordings in a folder for JSON.
func listAsJSON(folder string, all []recording.Listed) list {
	finite := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	runs := make([]listedRun, 0, len(all))
	for _, l := range all {
		r := listedRun{Path: l.Path, Bytes: l.Bytes, Began: l.Began.UTC().Format(time.RFC3339)}
		if l.Err != nil {
			r.Error = l.Err.Error()
			runs = append(runs, r)
			continue
		}
		state := l.State.String()
		r.State, r.Preset, r.Workload, r.Object, r.Ended, r.Failure = &state, l.Preset, l.Workload, l.Object, l.RunState, l.Error
		r.Starts, r.Iterations, r.Seconds, r.Dropped = l.Starts, l.Iterations, l.Length.Seconds(), l.Dropped
		r.MedianMS, r.Quality, r.QualityIs, r.Name, r.Note = finite(l.MedianMS), finite(l.Quality), l.QualityIs, l.Name, l.Note
		r.Stopped = l.Stopped
		runs = append(runs, r)
	}
	return list{Schema: 1, Folder: folder, Runs: runs}
}

// writeRuns writes the list as text.
func writeRuns(w io.Writer, folder string, all []recording.Listed) error {
	if len(all) == 0 {
		_, err := fmt.Fprintf(w, "no run was recorded in %s\n", visible.Text(folder))
		return err
	}
	total := int64(0)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "run\tpreset\tpicture\tlength\titerations\tms\tquality\tsize\tstate")
	for _, l := range all {
		total += l.Bytes
		name := strings.TrimSuffix(filepath.Base(l.Path), filepath.Ext(l.Path))
		size := strings.TrimSpace(unit.Bytes(l.Bytes))
		if l.Err != nil {
			fmt.Fprintf(table, "%s\t–\t–\t–\t–\t–\t–\t%s\t%s\n", visible.Text(name), size, visible.Text(reasonOf(l)))
			continue
		}
		state := l.State.String()
		if l.State == recording.Ended && l.RunState != "" {
			state = l.RunState
		}
		if l.Stopped != "" {
			state += ": " + l.Stopped
		}
		if more := strings.TrimSpace(l.Name + " " + l.Note); more != "" {
			state += ": " + more
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", visible.Text(name), visible.Text(l.Preset), visible.Text(l.Object), unit.Clock(l.Length),
			l.Iterations, short(l.MedianMS), visible.Text(qualityOf(l)), size, visible.Text(state))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s in %s\n", strings.TrimSpace(unit.Bytes(total)), visible.Text(folder))
	return err
}

// qualityOf returns the quality at the end with its name and unit: "PSNR 24.3 dB".
func qualityOf(l recording.Listed) string {
	value := short(l.Quality)
	if value == "–" {
		return value
	}
	for _, w := range workloads.All {
		if schema := w.Schema(); schema.Workload == l.Workload {
			if i := schema.SeriesNamed(l.QualityIs); i >= 0 {
				return strings.TrimSpace(schema.Series[i].Title + " " + value + " " + schema.Series[i].Unit)
			}
		}
	}
	return value + " " + l.QualityIs
}

// reasonOf returns why a recording cannot be read, without its path.
func reasonOf(l recording.Listed) string {
	return strings.TrimPrefix(l.Err.Error(), l.Path+": ")
}

// short formats a number for the list; a dash if there is none.
func short(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return fmt.Sprintf("%.4g", v)
}

// describeRunCommand returns the command runs name, or runs note.
func describeRunCommand(key, does string) *cobra.Command {
	return &cobra.Command{
		Use: key + " RUN [TEXT]", Short: does, Args: cobra.ArbitraryArgs,
		Long: does + ", which prismtop runs shows. Without a text, the one it has is removed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return cli.BadUsage(fmt.Errorf("runs %s: wants a recording and a text", key))
			}
			text := strings.Join(args[1:], "")
			if err := recording.Describe(cmd.Context(), cli.RecordingNamed(args[0]), key, text); err != nil {
				return fmt.Errorf("runs %s: %w", key, err)
			}
			return nil
		},
	}
}

// deleteRunsCommand returns the command runs delete.
func deleteRunsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete RUN…", Short: "Delete recordings", Args: cli.AtLeastOne("recording"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if err := deleteRun(cmd.Context(), cli.RecordingNamed(arg)); err != nil {
					return fmt.Errorf("runs delete: %w", err)
				}
			}
			return nil
		},
	}
}

// deleteRun deletes a recording, unless its run goes on or it is something else.
func deleteRun(ctx context.Context, path string) error {
	r, err := recording.Open(ctx, path, cli.TableOf)
	if err != nil {
		return err
	}
	status, err := r.Status(ctx)
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	if status.State == recording.Growing {
		return fmt.Errorf("%s: its run goes on", path)
	}
	return recording.Delete(path)
}
