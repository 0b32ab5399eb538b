package atomicfile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Draft is a file that is written piece by piece: a hidden file in the folder of its path,
// which Commit renames to the path. A program that is killed leaves the hidden file and
// nothing at the path; the next that writes to the path removes it.
type Draft struct {
	path   string // as given, for errors
	target string // what path leads to
	file   *os.File
	err    error // the first
	ended  bool  // committed or discarded
}

// Create begins a file. The folder of path must exist; mode is that of a new file, before the process's umask.
// Errors, here and later, name path.
func Create(path string, mode fs.FileMode) (*Draft, error) {
	target, err := Target(path)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(target); err == nil && info.IsDir() {
			err = errors.New("is a folder")
		} else {
			err = nil // an existing file is replaced; other errors are met by create
		}
	}
	d := &Draft{path: path, target: target}
	if err == nil {
		d.file, err = create(target, mode, true)
	}
	if err != nil {
		return nil, d.failed(err)
	}
	return d, nil
}

// Write adds to the file. After an error it writes nothing more.
func (d *Draft) Write(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.file.Write(p)
	if err != nil {
		d.err = d.failed(err)
	}
	return n, d.err
}

// Path returns the path as it was given.
func (d *Draft) Path() string { return d.path }

// Err returns the first error of Write.
func (d *Draft) Err() error { return d.err }

// Commit syncs the file to disk and gives it its name. After an error, including an earlier
// one of Write, nothing is left of it, and a file that was at the path is unchanged.
func (d *Draft) Commit() error {
	if d.err != nil {
		d.Discard()
		return d.err
	}
	d.ended = true
	err := errors.Join(d.file.Sync(), d.file.Close())
	if err == nil {
		err = os.Rename(d.file.Name(), d.target)
	}
	if err != nil {
		_ = os.Remove(d.file.Name()) // the first error is the one to report
		d.err = d.failed(err)
		return d.err
	}
	if err := syncFolder(filepath.Dir(d.target)); err != nil {
		return d.failed(err)
	}
	return nil
}

// Discard removes what was written. It does nothing after Commit.
func (d *Draft) Discard() {
	if d.ended {
		return
	}
	d.ended = true
	_ = d.file.Close()
	_ = os.Remove(d.file.Name())
}

// failed names the path in an error.
func (d *Draft) failed(err error) error {
	return &fs.PathError{Op: "write", Path: d.path, Err: bare(err)}
}

// create makes a new file with an unused hidden name in the folder of path, with the mode of the file at path if it
// replaces it.
func create(path string, mode fs.FileMode, replaces bool) (*os.File, error) {
	folder, base := filepath.Split(path)
	folder = cmp.Or(folder, ".")
	removeStale(folder, base)
	replaced, err := os.Lstat(path)
	if replaces = replaces && err == nil && replaced.Mode().IsRegular(); replaces {
		mode = replaced.Mode().Perm() // from the start: its data is nobody else's
	}
	f, err := os.OpenFile(filepath.Join(folder, draftName(base)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err == nil && replaces {
		_ = inherit(f, replaced) // file systems without modes and owners have none to keep
	}
	return f, err
}
