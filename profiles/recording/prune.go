package recording

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Pruning a folder of recordings: which go, and deleting them.

// Pruned is the result of Prune. Bytes are those of recordings with what SQLite keeps beside them.
type Pruned struct {
	Deleted []Freed // in the order of their deletion, the oldest first
	// Kept is the size of the folder's other files that were met and may not be deleted: recordings that grow, damaged
	// ones and files that prismtop did not name.
	Kept int64
	// Late reports that the time ended first: the folder may still be above the limit.
	Late bool
}

// Freed is a deleted recording.
type Freed struct {
	Path      string
	Bytes     int64
	Described bool // it had a name or a note
}

// Bytes returns the size of the deleted recordings.
func (p *Pruned) Bytes() (sum int64) {
	for _, f := range p.Deleted {
		sum += f.Bytes
	}
	return sum
}

// Prune deletes the oldest recordings of a folder until the others that may be deleted take at most limit bytes; 0
// means no limit. Those with a name or a note are deleted after all others. The recording at own, those that grow,
// files that cannot be read as recordings, files with other names than those of NewPath and those whose recording began
// under another name are neither deleted nor counted. When ctx ends, Prune returns what it has achieved.
//
// Files are opened only if the sizes of all exceed the limit: each before it is deleted, and the largest until those
// that may be deleted are known to exceed it, but for at most half of the time.
func Prune(ctx context.Context, folder, own string, limit int64) (Pruned, error) {
	if limit <= 0 {
		return Pruned{}, nil
	}
	p := pruning{limit: limit, checked: map[string]bool{}}
	if deadline, ok := ctx.Deadline(); ok {
		p.checksEnd = time.Now().Add(time.Until(deadline) / 2)
	}
	var err error
	if p.files, err = filesOf(folder); err != nil {
		return Pruned{}, err
	}
	var paths []string
	for path, t := range p.files {
		switch {
		case path == own:
		case ours.MatchString(filepath.Base(path)):
			paths, p.total = append(paths, path), p.total+t.bytes
		default:
			p.Kept += t.bytes
		}
	}
	slices.SortFunc(paths, begunBefore)
	p.unchecked = slices.Clone(paths)
	slices.SortStableFunc(p.unchecked, func(a, b string) int { return cmp.Compare(p.files[b].bytes, p.files[a].bytes) })
	left, err := p.delete(ctx, paths, func(s *Status) bool { return !described(s) })
	if err == nil {
		_, err = p.delete(ctx, left, func(*Status) bool { return true })
	}
	if p.Late = err != nil && ctx.Err() != nil; p.Late {
		err = nil
	}
	return p.Pruned, err
}

// described reports whether a recording has a name or a note.
func described(s *Status) bool { return s.Name != "" || s.Note != "" }

// Prunable returns how many recordings of a folder Prune counts, unless they grow or are damaged, and their size.
func Prunable(folder string) (n int, bytes int64) {
	files, err := filesOf(folder)
	if err != nil {
		return 0, 0
	}
	for path, t := range files {
		if ours.MatchString(filepath.Base(path)) {
			n, bytes = n+1, bytes+t.bytes
		}
	}
	return n, bytes
}

// pruning is the state of Prune.
type pruning struct {
	Pruned
	limit     int64
	files     map[string]trace
	total     int64           // bytes of the files that are not known to have to stay
	checked   map[string]bool // whether a file may be deleted
	sure      int64           // bytes of those that may
	unchecked []string        // the largest first
	checksEnd time.Time       // zero for never
}

// delete deletes those of paths that may be deleted and are wanted, in their order, until the limit is kept. It
// returns the others that may be deleted.
func (p *pruning) delete(ctx context.Context, paths []string, wanted func(*Status) bool) (others []string, err error) {
	for _, path := range paths {
		if err := p.check(ctx); err != nil {
			return nil, err
		}
		if p.total <= p.limit {
			return nil, nil
		}
		if may, seen := p.checked[path]; seen && !may {
			continue
		}
		s, err := p.open(ctx, path)
		switch {
		case err != nil:
			return nil, err
		case !p.checked[path]:
		case !wanted(&s):
			others = append(others, path)
		default:
			if err := Delete(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			bytes := p.files[path].bytes
			p.Deleted = append(p.Deleted, Freed{path, bytes, described(&s)})
			p.checked[path] = false
			p.total, p.sure = p.total-bytes, p.sure-bytes
		}
	}
	return others, nil
}

// check opens the largest files until those that may be deleted exceed the limit, so that none is deleted because of
// files that have to stay.
func (p *pruning) check(ctx context.Context) error {
	for p.total > p.limit && p.sure <= p.limit && len(p.unchecked) > 0 &&
		(p.checksEnd.IsZero() || time.Now().Before(p.checksEnd)) {
		path := p.unchecked[0]
		p.unchecked = p.unchecked[1:]
		if _, seen := p.checked[path]; seen {
			continue
		}
		if _, err := p.open(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// open returns the status of a file and notes in checked whether it may be deleted. The error is that of ctx.
func (p *pruning) open(ctx context.Context, path string) (Status, error) {
	s, err := statusOf(ctx, path)
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	bytes := p.files[path].bytes
	before, seen := p.checked[path]
	may := err == nil && s.State != Growing && (s.file == "" || s.file == filepath.Base(path)) // else it is a copy
	p.checked[path] = may
	switch {
	case may && !before:
		p.sure += bytes
	case !may && (before || !seen):
		p.total -= bytes
		if before {
			p.sure -= bytes
		}
		if _, err := os.Lstat(path); err == nil { // else another program has deleted it
			p.Kept += bytes
		}
	}
	return s, nil
}
