package recording

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Watcher lists the recordings of a folder again and again, and opens only those that may have changed.
type Watcher struct {
	folder string
	seen   map[string]seenFile // by path
}

// seenFile is what was seen of a file.
type seenFile struct {
	trace
	Listed
}

// trace is what a directory shows of a recording: another one may have other content.
type trace struct {
	bytes    int64
	modified time.Time
	logged   time.Time // of the log beside it
}

// NewWatcher returns a watcher of a folder, which need not exist.
func NewWatcher(folder string) *Watcher {
	return &Watcher{folder: folder, seen: map[string]seenFile{}}
}

// Known returns what was seen so far, newest first.
func (w *Watcher) Known() []Listed {
	all := make([]Listed, 0, len(w.seen))
	for _, s := range w.seen {
		all = append(all, s.Listed)
	}
	slices.SortFunc(all, newestFirst)
	return all
}

// Look reads the folder and passes take every recording that is new or may have changed: the newest names
// first, with the number of files of the folder and how many of them are known by then. It returns the
// paths that are gone.
func (w *Watcher) Look(ctx context.Context, take func(l Listed, files, known int)) (gone []string, err error) {
	files, err := filesOf(w.folder)
	if err != nil {
		return nil, err
	}
	known := 0
	for path := range w.seen {
		if _, there := files[path]; there {
			known++
			continue
		}
		delete(w.seen, path)
		gone = append(gone, path)
	}
	paths := make([]string, 0, len(files))
	for path := range files {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(b, a) }) // names begin with the time
	for _, path := range paths {
		t := files[path]
		s, before := w.seen[path]
		if before && s.trace == t && (s.Err != nil || s.State != Growing) {
			continue
		}
		if ctx.Err() != nil {
			return gone, ctx.Err()
		}
		l := Listed{Path: path, Bytes: t.bytes}
		if l.Status, l.Err = statusOf(ctx, path); l.Err != nil {
			l.Began = t.modified
		}
		if ctx.Err() != nil {
			return gone, ctx.Err()
		}
		if !before {
			known++
		}
		if w.seen[path] = (seenFile{t, l}); !before || !same(&s.Listed, &l) {
			take(l, len(files), known)
		}
	}
	return gone, nil
}

// same reports whether two listings of a file say the same. NaN is equal to itself here.
func same(a, b *Listed) bool {
	if (a.Err == nil) != (b.Err == nil) || a.Err != nil && a.Err.Error() != b.Err.Error() || a.Bytes != b.Bytes {
		return false
	}
	x, y := a.Status, b.Status
	for _, pair := range [][2]*float64{{&x.MedianMS, &y.MedianMS}, {&x.Quality, &y.Quality}} {
		if *pair[0] != *pair[0] && *pair[1] != *pair[1] {
			*pair[0], *pair[1] = 0, 0
		}
	}
	return x == y
}

// filesOf returns the recordings of a folder. One that does not exist has none.
func filesOf(folder string) (map[string]trace, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files := map[string]trace{}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), extension) {
			continue
		}
		if info, err := e.Info(); err == nil { // else it was deleted meanwhile
			files[filepath.Join(folder, e.Name())] = trace{bytes: info.Size(), modified: info.ModTime()}
		}
	}
	for _, e := range entries {
		for _, beside := range beside {
			path, ok := strings.CutSuffix(filepath.Join(folder, e.Name()), beside)
			t, there := files[path]
			if !ok || !there {
				continue
			}
			if info, err := e.Info(); err == nil {
				t.bytes += info.Size()
				if beside == "-wal" {
					t.logged = info.ModTime()
				}
				files[path] = t
			}
		}
	}
	return files, nil
}

// newestFirst orders recordings by when they began.
func newestFirst(a, b Listed) int {
	return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(b.Path, a.Path))
}
