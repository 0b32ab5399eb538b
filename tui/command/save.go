package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
	"prismtop/sim"
	"prismtop/sim/checkpoint"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/cyto/stack"
	"prismtop/sim/cyto/tasks"
	"prismtop/sim/picture"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// saveSuffixes returns the ends of the names of the files that --save writes.
func saveSuffixes(v settings.Values) []string { return workloads.Of(v).Saves }

// otherFormats are endings of files that --save does not write, and that nobody wants before its own.
var otherFormats = []string{".npz", ".npy", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".gif", ".bmp", ".fits",
	".csv", ".json", ".html", ".safetensors", ".pt", ".pth", ".sqlite"}

// savePath returns the path for --save without an extension; saving adds the suffixes. It
// returns an error if the settings' runs have nothing to save, or if the path cannot be written, so that a run of hours
// does not fail at its end.
func savePath(given string, v settings.Values) (string, error) {
	suffixes := saveSuffixes(v)
	if suffixes == nil {
		return "", fmt.Errorf("flag --save: %s has nothing to save", workloads.Of(v).Schema().Workload)
	}
	base := given
	for _, extension := range suffixes {
		if n := len(base) - len(extension); strings.HasPrefix(extension, ".") && n >= 0 &&
			strings.EqualFold(base[n:], extension) {
			base = base[:n]
			break
		}
	}
	if extension := filepath.Ext(base); base == given && slices.Contains(otherFormats, strings.ToLower(extension)) {
		bare := strings.TrimSuffix(base, extension)
		return "", fmt.Errorf("flag --save: %q: no %s file is written: must be %s, for %s", given, extension, bare,
			strings.Join(saved(bare, suffixes), " and "))
	}
	return base, cli.WritableFiles("save", given, base, saved(base, suffixes)...)
}

// saved returns the paths of the files that --save writes.
func saved(base string, suffixes []string) []string {
	all := make([]string, len(suffixes))
	for i, suffix := range suffixes {
		all[i] = base + suffix
	}
	return all
}

// write saves the reconstruction. The signal that ended a run does not interrupt saving, which
// may take a while for a large one; the next signal does.
func (f *runFlags) write(cmd *cobra.Command, r *sim.Run, wasInterrupted bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	saved, err := r.WriteReconstruction(ctx, f.save)
	if len(saved.Paths) > 0 {
		fmt.Fprintln(cli.Notes(cmd), visible.Text(saved.Line(f.claims.Marked(saved.Paths...))))
	}
	if err != nil && (wasInterrupted || ctx.Err() != nil) { // not reported anywhere else
		why := cli.ErrorLine(err)
		if ctx.Err() != nil {
			why = cli.ErrInterrupted.Error()
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "prismtop: not saved: "+why)
	}
	return err
}

// claim notes the files that flags name, and returns an error if one would be written that another
// flag names, or that holds data.
func (f *runFlags) claim(ctx context.Context, v settings.Values) error {
	c := cli.Claims{}
	f.claims = c
	reads := [][2]string{{"--image", v.Text("image")}, {"the setting measured", v.Text("measured")},
		{"--weights", f.keep.weights}, {"--config", v.Text("tasks")}}
	if !f.NoFile {
		reads = append(reads, [2]string{"--config", f.Sources.File})
	}
	if f.keep.resume != f.keep.path { // a run may go on in its own checkpoint
		reads = append(reads, [2]string{"--resume", f.keep.resume})
	}
	for _, r := range reads {
		if r[1] != "" {
			_ = c.Read(r[0], r[1]) // a pipe cannot be replaced; for other errors, reading it says why
		}
	}
	targets, _, err := f.exportTargets()
	if err != nil {
		return fmt.Errorf("flag --export: %w", err)
	}
	type written struct {
		flag  string
		own   func(path string) bool
		paths []string
	}
	var writes []written
	if f.save != "" {
		marked := func(path string) bool {
			return atomicfile.Marked(path, atomicfile.Holds(picture.Mark, stack.Mark))
		}
		writes = append(writes, written{"--save", marked, saved(f.save, saveSuffixes(v))})
	}
	if f.keep.path != "" {
		writes = append(writes, written{"--checkpoint", checkpoint.Is, []string{f.keep.path}})
		if f.keep.kept.Best { // it may be the checkpoint of --resume
			if err := atomicfile.Replaceable(checkpoint.Is, sim.BestPath(f.keep.path)); err != nil {
				return fmt.Errorf("flag --checkpoint-keep: %w", err)
			}
		}
	}
	if f.record.file != "" {
		checked := func(string) bool { return true } // it is a new one, or the recording of the checkpoint
		writes = append(writes, written{"--record", checked, cli.RecordingFiles(f.record.file)})
	}
	if path := v.Text("output"); path != "" {
		writes = append(writes, written{"--output", tasks.IsResults, []string{path}})
	}
	var all []string
	for _, w := range writes {
		all = append(all, w.paths...)
	}
	for _, t := range targets {
		all = append(all, t.Files()...)
	}
	readData(ctx, c, v, all)
	for _, w := range writes {
		if err := c.Replace("flag "+w.flag, w.own, w.paths...); err != nil {
			return err
		}
	}
	for i, t := range targets {
		if err := c.Write(fmt.Sprintf("flag --export: %q", f.exports[i]), t.Files()...); err != nil {
			return err
		}
		if err := t.Replaceable(); err != nil {
			return fmt.Errorf("flag --export: %w", err)
		}
	}
	// A run that writes the newest checkpoint of a family keeps its best and older ones beside it.
	if newest := sim.NewestPath(f.keep.path); newest != "" {
		c.Beside("flag --checkpoint", newest)
	}
	return nil
}

// inputs returns the files that settings name for a run to read, "" for those that are not set.
func inputs(v settings.Values) []string {
	return []string{v.Text("image"), v.Text("measured"), v.Text("tasks"), v.Text("data")}
}

// readData notes the files of the setting data that have a name of one to be written: lists may name
// any number of others.
func readData(ctx context.Context, c cli.Claims, v settings.Values, writes []string) {
	if v.Text("data") == "" || len(writes) == 0 {
		return
	}
	if v.Table() != im2im.Table { // one file
		_ = c.Read("--data", v.Text("data"))
		return
	}
	for _, path := range im2im.Files(ctx, v) {
		if slices.ContainsFunc(writes, func(w string) bool { return filepath.Base(w) == filepath.Base(path) }) {
			_ = c.Read("the setting data", path) // reading it says why it cannot be read
		}
	}
}
