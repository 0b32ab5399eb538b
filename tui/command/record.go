package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/profiles/machine"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/profiles/unit"
	"prismtop/sim"
	"prismtop/sim/checkpoint"
	"prismtop/sim/cpu/features"
	"prismtop/tui/command/cli"
	"prismtop/tui/words"
)

// recordFlags are the flags of what is recorded.
type recordFlags struct {
	file  string
	off   bool
	limit int64 // MiB
}

// recordLimit is the default of --record-limit.
const recordLimit = 1024

func (f *recordFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "record", "",
		"file to record the run to, which must not exist yet; without it one in $XDG_STATE_HOME/prismtop/runs")
	flags.BoolVar(&f.off, "no-record", false, "do not record the run")
	flags.Int64Var(&f.limit, "record-limit", recordLimit,
		"MiB for all finished recordings of the folder but this run's: when the run ends, the oldest beyond that "+
			"are deleted; a recording that alone takes more stops growing; 0 is no limit")
}

// check returns an error about flags that cannot be obeyed, so that a run of hours is not lost. A run that goes on from
// a checkpoint may name its recording.
func (f *recordFlags) check(ctx context.Context, flags *pflag.FlagSet, from *sim.Resumed) error {
	switch {
	case f.off && flags.Changed("record"):
		return errors.New("flag --no-record: cannot be joined with --record")
	case f.limit < 0:
		return fmt.Errorf("flag --record-limit: %d: must be at least 0", f.limit)
	case !flags.Changed("record"):
		return nil
	case f.file == "":
		return errors.New(`flag --record: "": must be the path of a file`)
	}
	if _, err := os.Lstat(f.file); err == nil && f.names(ctx, from) {
		return nil
	} else if err == nil {
		return fmt.Errorf("flag --record: %s exists already: must be a new file", f.file)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("flag --record: %s: %w", f.file, cli.Bare(err))
	}
	folder := filepath.Dir(f.file)
	if err := cli.Writable(folder); err != nil {
		return cli.Refused(fmt.Errorf("flag --record: %s: %w", f.file, err))
	}
	return nil
}

// names reports whether the file given is the recording of a checkpoint, which may have been copied there.
func (f *recordFlags) names(ctx context.Context, from *sim.Resumed) bool {
	if f.file == "" || from == nil || from.Recording == nil {
		return false
	}
	r, err := recording.Open(ctx, f.file, cli.TableOf)
	if err != nil {
		return false
	}
	defer r.Close()
	s, err := r.Status(ctx)
	return err == nil && s.Began.Equal(from.Recording.Began)
}

// join returns the recording of a checkpoint for the run that resumes from it, and lines for its log;
// nil if there is none to go on with, or another file is wanted.
func (f *recordFlags) join(ctx context.Context, from *sim.Resumed, print recording.Fingerprint) (*recording.Joined,
	[]string) {
	if f.off || from == nil || from.Recording == nil || f.file != "" && !f.names(ctx, from) {
		return nil, nil
	}
	path := cmp.Or(f.file, from.Recording.Path)
	atomicfile.RemoveDead(filepath.Dir(path)) // of the run before, if it was killed
	j, err := recording.Join(ctx, path, from.Recording.Began, from.Recording.Starts, from.Iteration,
		recording.Options{Fingerprint: print, Limit: f.limit << 20})
	if err != nil {
		if f.file != "" {
			f.file = beside(f.file)
		}
		return nil, []string{fmt.Sprintf("recorded to a new file: %s, the recording of the checkpoint, %v", path, err)}
	}
	return j, []string{"the recording goes on in " + path}
}

// beside returns the path of a file that does not exist, named for another: run-2.sqlite.
func beside(path string) string {
	ending := filepath.Ext(path)
	for n := 2; ; n++ {
		next := fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ending), n, ending)
		if _, err := os.Lstat(next); errors.Is(err, fs.ErrNotExist) {
			return next
		}
	}
}

// announce says what the given limit will do at the end of the run, which may be to delete recordings of other runs;
// nil if none is given, or the run does not record to the folder.
func (f *recordFlags) announce(flags *pflag.FlagSet) []string {
	folder, err := recording.Folder()
	if f.off || f.file != "" || f.limit == 0 || err != nil || !flags.Changed("record-limit") {
		return nil
	}
	n, bytes := recording.Prunable(folder)
	return []string{fmt.Sprintf("--record-limit %d is for all recordings in %s together: it has %s, %s; at the end of "+
		"this run the oldest are deleted until the rest takes at most %s",
		f.limit, folder, unit.Plural(n, "recording", "recordings"), unit.Size(bytes), unit.Limit(f.limit<<20))}
}

// recorder starts to record a run, in the recording that it joins if there is one, unless that is not
// wanted or impossible: then the run goes on without, and its log has the reason.
func (f *recordFlags) recorder(events *stream.Stream, v settings.Values, print recording.Fingerprint, gpu *cli.GPU,
	joined *recording.Joined) *recording.Recorder {
	if f.off {
		return nil
	}
	o := recording.Options{Path: f.file, Joined: joined, Fingerprint: print, GPU: gpu.Found, Limit: f.limit << 20,
		Report: func(s profiles.RecordingState) {
			events.Recording(s)
			if s.Err != "" {
				events.Refuse("not recorded: " + s.Err)
			}
		}}
	if o.Path == "" && joined == nil {
		folder, err := recording.Folder()
		if err == nil {
			o.Path, err = recording.NewPath(folder, subject(v), time.Now())
			o.Reserved = true
		}
		if err != nil {
			o.Report(profiles.RecordingState{Err: err.Error()})
			return nil
		}
	}
	return recording.New(o)
}

// recordingOf names the recording of a run for its checkpoints; nil if it has none.
func recordingOf(r *recording.Recorder) *checkpoint.Recording {
	if r == nil {
		return nil
	}
	path, err := filepath.Abs(r.Path())
	if err != nil {
		path = r.Path()
	}
	return &checkpoint.Recording{Path: path, Began: r.Began(), Starts: r.Prior()}
}

// subject names a run in the name of its recording.
func subject(v settings.Values) string {
	if image := v.Text("image"); image != "" {
		name := filepath.Base(image)
		return name[:len(name)-len(filepath.Ext(name))]
	}
	if object := v.Text("object"); object != "" {
		return object
	}
	return v.Table().Workload
}

// fingerprint describes what a run is made with.
func fingerprint(presetName string, origins settings.Origins) recording.Fingerprint {
	return recording.Fingerprint{
		Version: cli.Version, Preset: presetName, Origins: origins, CPU: features.Detect(),
		Threads: machine.Processors(),
	}
}

// factsOf returns what the recording of a run says of itself, or what it would say if r is nil.
func factsOf(print *recording.Fingerprint, r *recording.Recorder, gpu *cli.GPU) map[string]any {
	path := ""
	if r != nil {
		path = r.Path()
	}
	facts := print.Facts(path)
	if found, known := gpu.Known(); known {
		maps.Copy(facts, recording.GPUFacts(found))
	}
	return facts
}

// How long the end of the program waits for the end of the recording: after a screen, where
// a user waits for the prompt, and without one.
const (
	recordedOnScreen = 900 * time.Millisecond
	recordedWithin   = 10 * time.Second
)

// closeRecording ends a recording within a time, and deletes the oldest others if all take too much, which it returns.
// The run's log has errors of the time before; only those of the end are printed.
// An error is returned only if the recording was asked for by its path: it is what the user wanted of the run.
func (f *recordFlags) closeRecording(cmd *cobra.Command, r *recording.Recorder, last *profiles.Snapshot,
	within time.Duration) (pruned recording.Pruned, failed error) {
	if r == nil {
		return pruned, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	err := r.Close(ctx)
	switch {
	case f.file != "" && err != nil:
		failed = fmt.Errorf("flag --record: not recorded to the end: %w", err)
	case err != nil && (last == nil || last.Recording.Err == ""):
		fmt.Fprintln(cmd.ErrOrStderr(), words.Printed("prismtop: not recorded to the end: "+err.Error()))
	case err == nil && r.Logged():
		fmt.Fprintln(cmd.ErrOrStderr(),
			words.Printed(fmt.Sprintf("prismtop: recorded to the end, in %s and %[1]s-wal: keep both, as another "+
				"program reads the recording", r.Path())))
	}
	folder, unknown := recording.Folder()
	if unknown != nil || filepath.Dir(r.Path()) != folder { // files elsewhere are the user's
		return pruned, failed
	}
	if err != nil {
		if n, bytes := recording.Prunable(folder); f.limit > 0 && bytes > f.limit<<20 {
			fmt.Fprintln(cli.Notes(cmd), words.Printed(fmt.Sprintf("prismtop: %s still holds %s, %s, more than "+
				"--record-limit (%s): none was deleted, because the recording of this run is not whole", folder,
				unit.Plural(n, "recording", "recordings"), unit.Size(bytes), unit.Limit(f.limit<<20))))
		}
		return pruned, failed
	}
	pruned, err = recording.Prune(ctx, folder, r.Path(), f.limit<<20)
	for _, line := range deletedLines(&pruned, f.limit<<20) { // with --quiet, too: it is a loss
		fmt.Fprintln(cmd.ErrOrStderr(), words.Printed("prismtop: "+line))
	}
	for _, line := range keptLines(&pruned, folder, f.limit<<20) {
		fmt.Fprintln(cli.Notes(cmd), words.Printed("prismtop: "+line))
	}
	if err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), words.Printed("prismtop: old recordings were not deleted: "+err.Error()))
	}
	return pruned, nil
}

// fewDeleted is the number of deleted recordings up to which each is named; those with a name or a note always are.
const fewDeleted = 3

// deletedLines says which recordings were deleted.
func deletedLines(p *recording.Pruned, limit int64) (lines []string) {
	allowed := ": --record-limit is " + unit.Limit(limit)
	n := len(p.Deleted)
	if n > fewDeleted {
		var names []string // which begin with the times
		for _, d := range p.Deleted {
			names = append(names, filepath.Base(d.Path))
		}
		slices.Sort(names)
		lines = append(lines, fmt.Sprintf("deleted %d recordings, %s, the oldest %s and the newest %s%s", n,
			unit.Size(p.Bytes()), names[0], names[n-1], allowed))
	}
	for _, d := range p.Deleted {
		switch {
		case d.Described:
			lines = append(lines, fmt.Sprintf("deleted the recording %s of %s, which had a name or a note%s", d.Path,
				unit.Size(d.Bytes), allowed))
		case n <= fewDeleted:
			lines = append(lines, fmt.Sprintf("deleted the recording %s of %s%s", d.Path, unit.Size(d.Bytes), allowed))
		}
	}
	return lines
}

// keptLines says why a folder may still exceed the limit.
func keptLines(p *recording.Pruned, folder string, limit int64) (lines []string) {
	if p.Late {
		lines = append(lines, folder+" may still exceed --record-limit: deleting its recordings takes longer, and the "+
			"next run continues")
	}
	if p.Kept > limit {
		lines = append(lines, fmt.Sprintf("%s holds %s in files that a run never deletes (running, damaged, "+
			"copied, or not named by prismtop): more than --record-limit, which is %s",
			folder, unit.Size(p.Kept), unit.Limit(limit)))
	}
	return lines
}
