package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/export/files"
	"prismtop/profiles/export/openmetrics"
	"prismtop/profiles/recording"
	"prismtop/profiles/recording/replay"
	"prismtop/profiles/stream"
	"prismtop/profiles/visible"
	"prismtop/tui/command/cli"
)

// exportCommand returns the command export.
func exportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export RECORDING FORMAT=PATH...",
		Short: "Write a recorded run to files: " + files.Names(),
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return cli.BadUsage(errors.New("export: the recording is missing: must be a file, or a name as " +
					"prismtop runs lists it"))
			case 1:
				return cli.BadUsage(fmt.Errorf("export: what to write is missing: must be FORMAT=PATH with "+
					"the format %s", files.Names()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return exportRecording(cmd, args[0], args[1:]) },
	}
}

// exportRecording writes a recording to the targets.
func exportRecording(cmd *cobra.Command, path string, texts []string) error {
	targets, err := parseTargets(texts)
	if err != nil {
		return cli.BadUsage(fmt.Errorf("export: %w", err))
	}
	traced, done, err := cli.Traces(cmd.Context(), []string{path})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer done()
	path, err = cli.RecordingNamed(cmd.Context(), traced[0])
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	r, err := recording.Open(cmd.Context(), path, cli.TableOf)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer r.Close()
	named := cli.Claims{}
	if err := named.Read("the recording", cli.RecordingFiles(r.Path())...); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	for i, t := range targets {
		err := named.Write(fmt.Sprintf("%q", texts[i]), t.Files()...)
		if err == nil {
			err = t.Replaceable()
		}
		if err != nil {
			return cli.BadUsage(fmt.Errorf("export: %w", err))
		}
	}
	defer named.Release()
	if err := named.Hold(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	paths, err := writeRecording(cmd.Context(), r, targets, cmd.OutOrStdout())
	list := cmd.OutOrStdout()
	if slices.ContainsFunc(targets, files.Target.Stdout) {
		list = cmd.ErrOrStderr()
	}
	for _, path := range paths {
		fmt.Fprintln(list, visible.Text(path))
		if named.Replaced(path) { // standard output has paths alone
			fmt.Fprintln(cli.Notes(cmd), "prismtop: replaced "+visible.Text(path))
		}
	}
	switch {
	case cmd.Context().Err() != nil:
		return cli.ErrInterrupted
	case err != nil && len(paths) == 0:
		return fmt.Errorf("export: %w", err)
	}
	return err
}

// writeRecording writes a recording to the targets, as far as it goes, and returns the paths of the
// files. stdout is that of files.Open. An error with paths is about a part that is missing in them.
func writeRecording(ctx context.Context, r *recording.Reader, targets []files.Target,
	stdout io.Writer) ([]string, error) {
	from, err := sourceOf(ctx, r)
	if err != nil {
		return nil, err
	}
	if from.Starts, err = r.Origins(ctx); err != nil {
		return nil, err
	}
	for _, origins := range from.Starts { // those of the start that resumed the run last
		if origins != nil {
			from.Origins = origins
		}
	}
	facts, err := r.Facts(ctx)
	if err != nil {
		return nil, err
	}
	from.Facts = func() map[string]any { return facts }
	from.Began = r.Began()
	if slices.ContainsFunc(targets, func(t files.Target) bool { return t.Format() == "csv" }) { // columns come first
		if from.Schema, err = replay.Schema(ctx, r); err != nil {
			return nil, err
		}
	}
	x, err := files.Open(targets, from, stdout)
	if err != nil {
		return nil, err
	}
	defer x.Discard()
	last, err := replay.Events(ctx, r, x.Take, x.See)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case last == nil:
		return nil, errors.Join(err, fmt.Errorf("%s: nothing was recorded", r.Path()))
	}
	paths, failed := x.Close(last.Own.Dropped)
	return paths, errors.Join(err, failed)
}

// sourceOf returns what the events of a recording do not say. A state that cannot be read is that of the events.
func sourceOf(ctx context.Context, r *recording.Reader) (export.Source, error) {
	made, err := r.Fingerprint(ctx)
	from := export.Source{Version: made.Version, Preset: made.Preset, CPU: made.CPU, Processors: made.Threads}
	if status, failed := r.Status(ctx); failed == nil {
		from.Cut, from.Why = status.Cut()
	}
	return from, err
}

// exportTo writes the recording at a path to a target, FORMAT=PATH, and returns the paths of the files as
// they are to be shown.
func exportTo(ctx context.Context, path, text string) ([]string, error) {
	target, err := files.Parse(text)
	if err != nil {
		return nil, err
	}
	r, err := recording.Open(ctx, path, cli.TableOf)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	named := cli.Claims{}
	err = named.Read("the recording", cli.RecordingFiles(r.Path())...)
	if err == nil {
		err = named.Write(text, target.Files()...)
	}
	if err == nil {
		err = target.Replaceable()
	}
	if err != nil {
		return nil, err
	}
	defer named.Release()
	if err := named.Hold(); err != nil {
		return nil, err
	}
	paths, err := writeRecording(ctx, r, []files.Target{target}, nil)
	return named.Marked(paths...), err
}

// parseTargets reads the targets of exports.
func parseTargets(texts []string) (targets []files.Target, err error) {
	for _, text := range texts {
		t, err := files.Parse(text)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// handedOn is what a run hands on to others while it goes on: files and metrics.
type handedOn struct {
	files   *files.Exports
	any     bool                // there are files or metrics
	metrics *openmetrics.Server // nil without --metrics

	reader *stream.Reader // nil before follow, or if there is nothing to hand on
	stop   func()
	done   chan struct{}
}

// exportTargets reads those of --export. A run that goes on from a checkpoint exports its part to new files beside
// those that are there, which may have the part before; moved says so.
func (f *runFlags) exportTargets() (targets []files.Target, moved []string, err error) {
	targets, err = parseTargets(f.exports)
	for i, t := range targets {
		if f.keep.resumed == nil || err != nil {
			break
		}
		if targets[i], err = t.Beside(); err == nil && targets[i].Path != t.Path {
			moved = append(moved, fmt.Sprintf("%s goes to %s: %s stays, which may have the iterations before the "+
				"checkpoint", t.Format(), targets[i].Path, t.Path))
		}
	}
	return targets, moved, err
}

// targets reads those of --export, of which none may be standard output.
func (f *runFlags) targets() ([]files.Target, error) {
	targets, _, err := f.exportTargets()
	if i := slices.IndexFunc(targets, files.Target.Stdout); i >= 0 && err == nil {
		err = fmt.Errorf("%q: must be the path of a file: standard output is the summary's; prismtop export RUN %s "+
			"prints a recorded run", f.exports[i], f.exports[i])
	}
	if err != nil {
		return nil, fmt.Errorf("flag --export: %w", err)
	}
	return targets, nil
}

// handOn begins the files of --export and takes the address of --metrics, so that a run of hours
// does not fail at its end; metrics reports whether --metrics was given.
func (f *runFlags) handOn(ctx context.Context, from export.Source, metrics bool) (*handedOn, error) {
	targets, err := f.targets()
	if err != nil {
		return nil, err
	}
	h := &handedOn{any: len(targets) > 0 || metrics}
	if h.files, err = files.Open(targets, from, nil); err != nil {
		return nil, cli.Refused(fmt.Errorf("flag --export: %w", err))
	}
	if !metrics {
		return h, nil
	}
	address, err := openmetrics.Address(f.metrics)
	if err == nil {
		var l net.Listener
		if l, err = cli.Listen(ctx, address); err != nil {
			err = cli.Refused(err)
		} else {
			h.metrics = openmetrics.NewServer(l, address)
		}
	}
	if err != nil {
		h.files.Discard()
		return nil, fmt.Errorf("flag --metrics: %w", err)
	}
	return h, nil
}

// listen takes what a run says from its beginning on, which follow hands on: of what came
// before, a later reader has the state alone.
func (h *handedOn) listen(events *stream.Stream) {
	if h.any {
		h.reader = events.Follow()
	}
}

// follow begins to hand on the events of a run. newest returns the newest snapshot.
func (h *handedOn) follow(events *stream.Stream, newest func() *profiles.Snapshot) {
	if !h.any {
		return
	}
	var also []func(*profiles.Event)
	if h.metrics != nil {
		collector := openmetrics.New(cli.Version, newest)
		also = append(also, collector.Take)
		h.metrics.Serve(collector)
		said := "metrics at " + h.metrics.URL()
		if h.metrics.Public() {
			said += "; warning: other machines can read them; a port alone serves this machine"
		}
		events.Log(said)
	}
	h.done = make(chan struct{})
	var ctx context.Context
	ctx, h.stop = context.WithCancel(context.Background())
	go func() {
		defer close(h.done)
		h.files.Follow(ctx, h.reader, newest, events.Refuse, also...)
	}()
}

// end hands on what is left of a run that has ended, completes the files and lists them on w; claims has them. recorded
// is the path of its recording, empty if there is none.
func (h *handedOn) end(w io.Writer, claims cli.Claims, recorded string) error {
	lost := h.unfollow()
	paths, err := h.files.Close(lost)
	if len(paths) > 0 {
		fmt.Fprintln(w, "exported "+visible.Text(strings.Join(claims.Marked(paths...), ", ")))
	}
	if left := h.files.LeftOut(); len(paths) > 0 && len(left) > 0 {
		text := "csv lacks " + strings.Join(left, ", ") + ", first measured after its columns were written"
		if recorded != "" {
			text += ": prismtop export " + recorded + " csv=PATH has all"
		}
		fmt.Fprintln(w, visible.Text(text))
	}
	return err
}

// discard ends everything. After end it does nothing; before, the files are not written.
func (h *handedOn) discard() {
	h.unfollow()
	h.files.Discard()
}

// unfollow ends the reader and the server and returns the number of events that the reader lost.
func (h *handedOn) unfollow() (lost int64) {
	if h.metrics != nil {
		h.metrics.Close()
		h.metrics = nil
	}
	if h.reader == nil {
		return 0
	}
	if h.stop != nil { // it followed
		h.stop()
		<-h.done
	}
	lost = h.reader.Dropped()
	h.reader.Close()
	h.reader = nil
	return lost
}
