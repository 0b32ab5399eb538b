package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/sim/checkpoint"
	"prismtop/sim/workload"
)

// This file names the checkpoints that stay: one family of files per start, its newest checkpoint in
// run.npz, older ones in run-0000000400.npz, the best one in run-best.npz.

// Keep says which checkpoints stay beside the newest.
type Keep struct {
	Last int  // the newest ones, counting the newest; 0 counts as 1
	Best bool // the one of the best quality
}

// family is the files of the checkpoints of one start.
type family struct {
	path   string   // of the newest checkpoint
	newest int64    // iteration of the file at path; -1 if another run or no run wrote it
	kept   []string // base names of older checkpoints, oldest first
	best   *checkpoint.Best
}

// split returns the path without its extension, and the extension.
func (f *family) split() (base, extension string) {
	extension = filepath.Ext(f.path)
	return strings.TrimSuffix(f.path, extension), extension
}

// iterationDigits pads iterations in names of files, so that they sort.
const iterationDigits = 10

// older returns the path of an older checkpoint.
func (f *family) older(iteration int64) string {
	base, extension := f.split()
	return fmt.Sprintf("%s-%0*d%s", base, iterationDigits, iteration, extension)
}

// bestPath returns the path of the best checkpoint.
func (f *family) bestPath() string { return BestPath(f.path) }

// BestPath returns the path of the best checkpoint of a run that keeps it beside the newest one at path.
func BestPath(path string) string {
	extension := filepath.Ext(path)
	return strings.TrimSuffix(path, extension) + "-best" + extension
}

// NewestPath returns the path of the newest checkpoint of the family of which a path is an older or the best one; empty
// if its name is none of theirs.
func NewestPath(path string) string {
	folder, name := filepath.Split(path)
	extension := filepath.Ext(name)
	base := strings.TrimSuffix(name, extension)
	at := strings.LastIndexByte(base, '-')
	if at <= 0 {
		return ""
	}
	newest := folder + base[:at] + extension
	if f := (family{path: newest}); base[at:] == "-best" || f.isOlder(name) {
		return newest
	}
	return ""
}

// isOlder reports whether a base name is one of older.
func (f *family) isOlder(name string) bool {
	base, extension := f.split()
	digits, isBase := strings.CutPrefix(name, filepath.Base(base)+"-")
	digits, isExtension := strings.CutSuffix(digits, extension)
	_, err := strconv.ParseUint(digits, 10, 63)
	return isBase && isExtension && len(digits) == iterationDigits && err == nil
}

// restartPath returns the path of the newest checkpoint of the n-th start.
func restartPath(path string, n int) string {
	if n == 1 {
		return path
	}
	extension := filepath.Ext(path)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, extension), n, extension)
}

// resumedFamily returns the files of a run that goes on from a checkpoint: those that the checkpoint
// names, if it is in the same folder and of the same name. The best one is what its file says, which another run may
// have written since.
func resumedFamily(path string, from *Resumed) family {
	f := family{path: path, newest: -1}
	folder, name := filepath.Dir(from.Path), filepath.Base(from.Path)
	if !sameFolder(folder, filepath.Dir(path)) || name != filepath.Base(path) &&
		name != filepath.Base(f.bestPath()) && !f.isOlder(name) {
		return f
	}
	if name == filepath.Base(path) {
		f.newest = from.Iteration
	}
	for _, k := range from.Kept {
		if _, err := os.Lstat(filepath.Join(folder, k)); err == nil && f.isOlder(k) {
			f.kept = append(f.kept, k)
		}
	}
	if at, err := checkpoint.Read(context.Background(), f.bestPath()); err == nil {
		if f.best = at.Best; at.Best != nil && from.Best != nil && at.Iteration == from.Best.Iteration {
			f.best = from.Best
		}
	}
	return f
}

func sameFolder(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// next returns the path of the checkpoints of another start: that of this one if it left none, or the first
// that is free.
func (f *family) next(o *Checkpoints) string {
	for n := 1; ; n++ {
		path := restartPath(o.Path, n)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if path == f.path || o.Lock == nil || o.Lock(path) == nil {
			return path
		}
	}
}

// foretold returns the path that next returns once this start has left a checkpoint.
func (f *family) foretold(o *Checkpoints) string {
	for n := 2; ; n++ {
		path := restartPath(o.Path, n)
		if _, err := os.Lstat(path); err != nil && path != f.path {
			return path
		}
	}
}

// improved returns the best checkpoint so far if the present state is one, else nil.
func (l *loop) improved(ctx context.Context, best *checkpoint.Best) *checkpoint.Best {
	c, ok := l.work.(workload.Comparer)
	if !ok || l.view.quality < 0 {
		return nil
	}
	v, err := c.Quality(ctx)
	q := v[l.view.quality]
	if err != nil || math.IsNaN(q) {
		return nil
	}
	if best != nil {
		was := float64(best.Quality)
		if better := q > was; better != (l.info.Schema.Series[l.view.quality].Better == profiles.MoreIsBetter) ||
			q == was {
			return nil
		}
	}
	return &checkpoint.Best{Quality: checkpoint.Number(q), Iteration: l.index}
}

// write writes a checkpoint as the newest of the family, keeps the one before under another name, and
// removes those beyond last. It returns the family with it. improved is true of the best checkpoint so far. lost is
// why another than the newest could not be kept or removed.
func (f family) write(last int, improved bool, run *checkpoint.Run, state *checkpoint.State) (after family, lost,
	err error) {
	folder := filepath.Dir(f.path)
	if last > 1 && f.newest >= 0 && f.newest != run.Iteration {
		older := f.older(f.newest)
		if lost = copyFile(f.path, older); lost == nil {
			name := filepath.Base(older)
			f.kept = append(slices.DeleteFunc(slices.Clone(f.kept), func(k string) bool { return k == name }), name)
		}
	}
	for len(f.kept) > max(last-1, 0) {
		if err := os.Remove(filepath.Join(folder, f.kept[0])); err != nil && !os.IsNotExist(err) {
			lost = errors.Join(lost, err)
		}
		f.kept = slices.Clone(f.kept[1:])
	}
	run.Kept, run.Best = f.kept, f.best
	if err := checkpoint.Write(f.path, run, state); err != nil {
		return f, lost, err
	}
	f.newest = run.Iteration
	if improved {
		lost = errors.Join(lost, copyFile(f.path, f.bestPath()))
	}
	return f, lost, nil
}

// copyFile copies a checkpoint with its mode, the whole file or nothing of it. It replaces no file but a checkpoint.
func copyFile(from, to string) error {
	if err := atomicfile.Replaceable(checkpoint.Is, to); err != nil {
		return err
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	return atomicfile.WriteFrom(to, info.Mode().Perm(), func(w io.Writer) error {
		_, err := io.Copy(w, source)
		return err
	})
}
