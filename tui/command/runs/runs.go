// Package runs is the command runs, and what else works on several recorded runs: their table, comparing and deleting
// them. It reads files and fills the plain data that tui/runs and tui/comparison draw.
package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/export"
	"prismtop/profiles/recording"
	"prismtop/profiles/visible"
	"prismtop/tui/command/cli"
	"prismtop/tui/control"
	table "prismtop/tui/runs"
	"prismtop/tui/screen"
)

// ExportTo writes a recording to a target, FORMAT=PATH, and returns the paths of the files.
type ExportTo func(ctx context.Context, recording, target string) ([]string, error)

// Actions are what the table of runs leaves to other commands.
type Actions struct {
	// Replay plays a recording on the screen.
	Replay func(ctx context.Context, path string, look screen.Options) error
	Export ExportTo
}

// Command returns the command runs.
func Command(do Actions) *cobra.Command {
	var asJSON, asList bool
	var look cli.Look
	cmd := &cobra.Command{
		Use: "runs", Short: "Show the recorded runs: open, compare, export, rename, delete", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := look.Options(cmd.Flags())
			if err != nil {
				return err
			}
			folder, err := recording.Folder()
			if err != nil {
				return err
			}
			if !asJSON && !asList && cli.OnTerminal() {
				if err := cli.ReadKeys(cmd.Context(), &options); err != nil {
					return err
				}
				return showTable(cmd.Context(), folder, do, options)
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object (prismtop docs recording)")
	cmd.Flags().BoolVar(&asList, "list", false, "a list as text, on a terminal too")
	look.Register(cmd.Flags())
	cmd.AddCommand(describeRunCommand("name", "Name a recorded run"),
		describeRunCommand("note", "Write a note to a recorded run"), deleteRunsCommand())
	return cmd
}

// showTable shows the table of runs, and what is opened from it, until the user quits.
func showTable(ctx context.Context, folder string, do Actions, look screen.Options) error {
	cli.ThriftyCollector()
	t := table.New(newLibrary(folder, do.Export), cli.Page(look))
	for {
		action, paths, err := t.Run(ctx)
		if err == nil && action != table.Quit {
			if action == table.Open {
				err = do.Replay(ctx, paths[0], look)
			} else {
				err = comparePaths(ctx, paths, look)
			}
			if err != nil && !cli.Interrupted(err) && ctx.Err() == nil {
				for _, path := range paths {
					err = withShortPath(err, path)
				}
				t.Complain(strings.ReplaceAll(err.Error(), "\n", "; ")) // on the table, which follows
				continue
			}
		}
		switch {
		case errors.Is(err, control.ErrInterrupted) || ctx.Err() != nil:
			return cli.ErrInterrupted
		case err != nil || action == table.Quit:
			return err
		}
	}
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
		r.State, r.Preset, r.Workload, r.Object, r.Ended, r.Failure = &state, l.Preset, l.Workload, l.Object,
			l.RunState, l.Error
		r.Starts, r.Iterations, r.Seconds, r.Dropped = l.Starts, l.Iterations, l.Length.Seconds(), l.Dropped
		r.MedianMS, r.Quality, r.QualityIs, r.Name, r.Note = finite(l.MedianMS), finite(l.Quality), l.QualityIs,
			l.Name, l.Note
		r.Stopped = l.Stopped
		runs = append(runs, r)
	}
	return list{Schema: 1, Folder: folder, Runs: runs}
}

// describeRunCommand returns the command runs name, or runs note.
func describeRunCommand(key, does string) *cobra.Command {
	return &cobra.Command{
		Use: key + " RUN TEXT", Short: does, Args: cobra.ArbitraryArgs,
		Long: does + ", which prismtop runs shows. An empty text removes the one it has. Commands that take a " +
			"recording\ntake its path, the name of its file, or the name given here if only one run has it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.BadUsage(fmt.Errorf("runs %s: wants a recording and a text; '' removes the one it has", key))
			}
			text := args[1]
			path, err := cli.RecordingNamed(cmd.Context(), args[0])
			if err == nil {
				err = recording.Describe(cmd.Context(), path, key, text)
			}
			if err != nil {
				return fmt.Errorf("runs %s: %w", key, err)
			}
			file := visible.Text(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
			if text == "" {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s removed\n", file, key)
			} else {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s\n", file, key, visible.Text(text))
			}
			return err
		},
	}
}

// deleteRunsCommand returns the command runs delete.
func deleteRunsCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "delete RUN…", Short: "Delete recordings", Args: cli.AtLeastOne("recording"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return deleteRuns(cmd.Context(), cmd.OutOrStdout(), args, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "delete damaged recordings, wherever they are")
	return cmd
}

// deleteRuns deletes recordings if all of them may be deleted, and says which it deleted. With force it
// deletes damaged recordings anywhere, but none that is still being written.
func deleteRuns(ctx context.Context, w io.Writer, args []string, force bool) error {
	type doomed struct{ path, about string }
	var all []doomed
	var refused []error
	seen := map[string]bool{}
	for _, arg := range args {
		path, err := cli.RecordingNamed(ctx, arg)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		if full, err := filepath.Abs(path); err == nil && seen[full] {
			continue
		} else if err == nil {
			seen[full] = true
		}
		damaged, err := recording.MayDelete(ctx, path)
		info, missing := os.Lstat(path)
		switch {
		case ctx.Err() != nil:
			return cli.ErrInterrupted
		case err == nil && damaged == nil:
			all = append(all, doomed{path: path})
		case err == nil:
			all = append(all, doomed{path, ", which could not be read: " + withoutPath(damaged, path)})
		case missing != nil || !info.Mode().IsRegular() || errors.Is(err, recording.ErrGoesOn):
			refused = append(refused, err)
		case recording.Marked(path) != nil:
			refused = append(refused, recording.Marked(path))
		case force:
			all = append(all, doomed{path, ", which could not be read: " + withoutPath(err, path)})
		default:
			refused = append(refused, fmt.Errorf("%w (--force deletes it all the same)", err))
		}
	}
	if len(refused) > 0 {
		if len(args) > 1 {
			refused = append(refused, errors.New("nothing was deleted"))
		}
		return fmt.Errorf("runs delete: %w", errors.Join(refused...))
	}
	var failed []error
	for _, d := range all {
		if err := recording.Delete(d.path); err != nil {
			failed = append(failed, fmt.Errorf("runs delete: %w", err))
			continue
		}
		if _, err := fmt.Fprintln(w, "deleted "+visible.Text(d.path+d.about)); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// withoutPath returns an error's text without the path at its beginning.
func withoutPath(err error, path string) string { return strings.TrimPrefix(err.Error(), path+": ") }
