package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
	"prismtop/sim"
)

// savePath returns the path for --save without an extension; saving adds the extensions. It
// returns an error if the path cannot be written, so that a run of hours does not fail at its
// end.
func savePath(given string) (string, error) {
	base := given
	for _, extension := range []string{".png", ".npy"} {
		if n := len(base) - len(extension); n >= 0 && strings.EqualFold(base[n:], extension) {
			base = base[:n]
			break
		}
	}
	return base, writableFiles("save", given, base, base+".png", base+".npy")
}

// writableFiles checks that files in the folder of base can be written, which a flag gives.
func writableFiles(flag, given, base string, paths ...string) error {
	folder, name := filepath.Split(base)
	if name == "" || name == "." || name == ".." {
		return fmt.Errorf("flag --%s: %q: wants a file name", flag, given)
	}
	if folder == "" {
		folder = "."
	}
	if err := writable(folder); err != nil {
		return fmt.Errorf("flag --%s: %q: the folder %s cannot be written: %w", flag, given, filepath.Clean(folder), bare(err))
	}
	for _, path := range paths {
		target, err := atomicfile.Target(path)
		if err != nil {
			return fmt.Errorf("flag --%s: %q: %s: %w", flag, given, path, err)
		}
		if behind := filepath.Dir(target); behind != filepath.Dir(path) { // the target of a link
			if err := writable(behind); err != nil {
				return fmt.Errorf("flag --%s: %s leads to the folder %s, which cannot be written: %w", flag, path, behind, bare(err))
			}
		}
		info, err := os.Stat(target)
		switch {
		case err == nil && info.IsDir():
			return fmt.Errorf("flag --%s: %s is a folder", flag, path)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("flag --%s: %q: %w", flag, given, bare(err))
		}
	}
	return nil
}

// writable checks whether a file can be created in a folder.
func writable(folder string) error {
	probe, err := os.CreateTemp(folder, ".prismtop-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// bare returns an error without its operation and path.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// write saves the reconstruction. The signal that ended a run does not interrupt saving, which
// may take a while for a large one; the next signal does.
func (f *runFlags) write(w io.Writer, r *sim.Run, wasInterrupted bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	paths, err := r.WriteReconstruction(ctx, f.save)
	if len(paths) > 0 {
		fmt.Fprintln(w, "saved "+visible.Text(strings.Join(paths, " and ")))
	}
	if err != nil && (wasInterrupted || ctx.Err() != nil) { // not reported anywhere else
		why := errorLine(err)
		if ctx.Err() != nil {
			why = errInterrupted.Error()
		}
		fmt.Fprintln(w, "prismtop: not saved: "+why)
	}
	return err
}

// claims are the files that flags name, by their resolved paths: none may be written twice, nor over
// one that is read.
type claims map[string]string

// read notes files that are read for the thing named by.
func (c claims) read(by string, paths ...string) error {
	for _, path := range paths {
		at, err := resolved(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		c[at] = by
	}
	return nil
}

// write notes files that are written for the thing named by, and returns an error if one of them
// belongs to another.
func (c claims) write(by string, paths ...string) error {
	for _, path := range paths {
		at, err := resolved(path)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", by, path, err)
		}
		if other, taken := c[at]; taken {
			return fmt.Errorf("%s: %s is the file of %s: must be another", by, path, other)
		}
		c[at] = strings.TrimPrefix(by, "flag ")
	}
	return nil
}

// resolved returns the absolute path of the file that a path stands for, through links.
func resolved(path string) (string, error) {
	target, err := atomicfile.Target(path)
	if err != nil {
		return "", err
	}
	if target, err = filepath.Abs(target); err != nil {
		return "", err
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(target)); err == nil {
		target = filepath.Join(folder, filepath.Base(target))
	}
	return target, nil
}

// recordingFiles lists the file of a recording, and those that SQLite keeps beside it.
func recordingFiles(path string) []string { return []string{path, path + "-wal", path + "-shm"} }

// claim returns an error if two flags name the same file.
func (f *runFlags) claim(v settings.Values) error {
	c := claims{}
	reads := [][2]string{{"--image", v.Text("image")}, {"--weights", f.keep.weights}}
	if f.keep.resume != f.keep.path { // a run may go on in its own checkpoint
		reads = append(reads, [2]string{"--resume", f.keep.resume})
	}
	for _, r := range reads {
		if r[1] == "" {
			continue
		}
		if err := c.read(r[0], r[1]); err != nil {
			return nil // reading it says why it cannot be read
		}
	}
	writes := map[string][]string{}
	if f.save != "" {
		writes["--save"] = []string{f.save + ".png", f.save + ".npy"}
	}
	if f.keep.path != "" {
		writes["--checkpoint"] = []string{f.keep.path}
	}
	if f.record.file != "" {
		writes["--record"] = recordingFiles(f.record.file)
	}
	for _, flag := range []string{"--save", "--checkpoint", "--record"} {
		if err := c.write("flag "+flag, writes[flag]...); err != nil {
			return err
		}
	}
	targets, err := parseTargets(f.exports)
	if err != nil {
		return fmt.Errorf("flag --export: %w", err)
	}
	for i, t := range targets {
		if err := c.write(fmt.Sprintf("flag --export: %q", f.exports[i]), t.Files()...); err != nil {
			return err
		}
	}
	return nil
}
