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
func (f *family) isOlder(name string) bool { return f.iterationOf(name) >= 0 }

// iterationOf returns the iteration in a base name of older, -1 for other names.
func (f *family) iterationOf(name string) int64 {
	base, extension := f.split()
	digits, isBase := strings.CutPrefix(name, filepath.Base(base)+"-")
	digits, isExtension := strings.CutSuffix(digits, extension)
	iteration, err := strconv.ParseUint(digits, 10, 63)
	if !isBase || !isExtension || len(digits) != iterationDigits || err != nil {
		return -1
	}
	return int64(iteration)
}

// has reports whether a path has one of the family's names, in its folder.
func (f *family) has(path string) bool {
	name := filepath.Base(path)
	return sameFile(filepath.Dir(path), filepath.Dir(f.path)) &&
		(name == filepath.Base(f.path) || name == filepath.Base(f.bestPath()) || f.isOlder(name))
}

// beside returns the files with the names of those that a run keeps beside its newest checkpoint at path, from an
// iteration on.
func (k Keep) beside(path string, iteration int64) (all []string) {
	f := family{path: path}
	if _, err := os.Lstat(f.bestPath()); k.Best && err == nil {
		all = append(all, f.bestPath())
	}
	if k.Last > 1 {
		entries, _ := os.ReadDir(filepath.Dir(path)) // writing there says what is wrong
		for _, e := range entries {
			if f.iterationOf(e.Name()) >= iteration {
				all = append(all, filepath.Join(filepath.Dir(path), e.Name()))
			}
		}
	}
	return all
}

// member is a checkpoint of a family.
type member struct {
	name string // base name
	*checkpoint.Run
}

// related reports whether two checkpoints say that they are of one run: one names the other, or they have the same
// recording or the same best one.
func (m member) related(other member) bool {
	return slices.Contains(m.Kept, other.name) || slices.Contains(other.Kept, m.name) ||
		m.Recording != nil && other.Recording != nil && m.Recording.Began.Equal(other.Recording.Began) ||
		m.Best != nil && other.Best != nil && *m.Best == *other.Best
}

// Foreign returns a checkpoint of another run that a run would replace, which keeps its newest one at path and goes on
// from a checkpoint, nil for a new run; empty for none. A damaged one counts as another run's, and so does one that
// went on from the checkpoint, or from a copy of it, under another name:
// further reports that. The only error is that of ctx.
func (k Keep) Foreign(ctx context.Context, path string, from *Resumed) (at string, further bool, err error) {
	f := family{path: path}
	var own []member
	var iteration int64
	if from != nil {
		iteration = from.Iteration
		own = append(own, member{filepath.Base(from.Path), &from.Run})
	}
	for _, at := range append([]string{path}, k.beside(path, iteration)...) {
		if !checkpoint.Is(at) || from != nil && sameFile(at, from.Path) {
			continue
		}
		c, err := checkpoint.Read(ctx, at)
		if ctx.Err() != nil {
			return "", false, ctx.Err()
		}
		if err != nil {
			return at, false, nil
		}
		m := member{filepath.Base(at), &c.Run}
		related := slices.ContainsFunc(own, m.related)
		if !related || !f.has(from.Path) && c.Iteration > iteration {
			return at, related, nil
		}
		own = append(own, m)
	}
	return "", false, nil
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
	if !f.has(from.Path) {
		return f
	}
	folder := filepath.Dir(from.Path)
	if filepath.Base(from.Path) == filepath.Base(path) {
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

// sameFile reports whether two paths lead to one file or folder.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// next returns the path of the checkpoints of another start: that of this one if it left none, or the first
// that is free.
func (f *family) next(o *Checkpoints) string {
	for n := 1; ; n++ {
		path := restartPath(o.Path, n)
		if !o.free(path) {
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
		if o.free(path) && path != f.path {
			return path
		}
	}
}

// free reports whether no file has the name of the newest checkpoint of a start, or of those kept beside it.
func (o *Checkpoints) free(path string) bool {
	_, err := os.Lstat(path)
	return err != nil && len(o.Keep.beside(path, 0)) == 0
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
