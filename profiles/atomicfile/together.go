package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// WriteTogether writes files that belong together, all or none: everything that can fail for lack
// of space is done before any file gets its name. Older files of these names, or behind links of
// these names, are replaced. The error names the file that could not be written.
func WriteTogether(paths []string, data [][]byte, mode fs.FileMode) error {
	targets := make([]string, len(paths))
	for i, path := range paths {
		target, err := Target(path)
		if err != nil {
			return &fs.PathError{Op: "write", Path: path, Err: err}
		}
		targets[i] = target
	}
	drafts, err := draftAll(targets, data, mode, true)
	if err != nil {
		return named(err, targets, paths)
	}
	return named(name(drafts, targets), targets, paths)
}

// WriteNew is WriteTogether under unused names: names returns the paths of the n-th
// choice, from 1 on, all in the same folder, and the first choice whose paths are all
// free is taken. It returns these paths.
func WriteNew(names func(n int) []string, data [][]byte, mode fs.FileMode) ([]string, error) {
	drafts, err := draftAll(names(1), data, mode, false)
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		paths := names(n)
		switch err := reserve(paths, mode); {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			discard(drafts)
			return nil, err
		}
		if err := name(drafts, paths); err != nil {
			discard(paths)
			return nil, err
		}
		return paths, nil
	}
}

// WriteNewFrom is WriteNew for one file that is never in memory as a whole: write writes its data.
func WriteNewFrom(names func(n int) string, mode fs.FileMode, write func(io.Writer) error) (string, error) {
	d, err := draft(names(1), mode, false, write)
	if err != nil {
		return "", &fs.PathError{Op: "write", Path: names(1), Err: bare(err)}
	}
	for n := 1; ; n++ {
		path := []string{names(n)}
		switch err := reserve(path, mode); {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			discard([]string{d})
			return "", err
		}
		if err := name([]string{d}, path); err != nil {
			discard(path)
			return "", err
		}
		return path[0], nil
	}
}

// named converts an error about a target to one about the path that led there.
func named(err error, targets, paths []string) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		if i := slices.Index(targets, path.Path); i >= 0 {
			path.Path = paths[i]
		}
	}
	return err
}

// reserve creates empty files with unused names, all or none, so that no other
// program takes the names meanwhile.
func reserve(paths []string, mode fs.FileMode) error {
	for i, path := range paths {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			discard(paths[:i])
			return err
		}
	}
	return nil
}

// draftAll writes a draft of every file, or none.
func draftAll(paths []string, data [][]byte, mode fs.FileMode, replaces bool) ([]string, error) {
	drafts := make([]string, 0, len(paths))
	for i, path := range paths {
		d, err := draft(path, mode, replaces, whole(data[i]))
		if err != nil {
			discard(drafts)
			return nil, &fs.PathError{Op: "write", Path: path, Err: bare(err)}
		}
		drafts = append(drafts, d)
	}
	return drafts, nil
}

// name renames the drafts. If one fails, the previous ones are removed again, unless
// they replaced an existing file, and no draft is left.
func name(drafts, paths []string) error {
	var made []string
	for i, path := range paths {
		_, err := os.Lstat(path)
		isNew := errors.Is(err, fs.ErrNotExist)
		if err := os.Rename(drafts[i], path); err != nil {
			discard(made)
			discard(drafts[i:])
			return &fs.PathError{Op: "write", Path: path, Err: bare(err)}
		}
		if isNew {
			made = append(made, path)
		}
	}
	var err error
	for i, path := range paths {
		if i == 0 || filepath.Dir(path) != filepath.Dir(paths[i-1]) {
			err = errors.Join(err, syncFolder(filepath.Dir(path)))
		}
	}
	return err
}

func discard(paths []string) {
	for _, path := range paths {
		_ = os.Remove(path) // the first error is the one to report
	}
}
