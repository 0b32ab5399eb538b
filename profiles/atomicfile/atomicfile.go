// Package atomicfile writes files atomically: a reader, even after a power failure,
// finds either the old file or the new one. A file that is replaced hands its mode to the
// new one, and its owner and group as far as permitted. A symbolic link is followed: the
// file it points to is written, and the link is kept. Links of other users in folders
// where everybody can put one are refused.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Write writes data to a new file in the folder of path, syncs it to disk and
// renames it to path. The folder must exist. mode is that of a new file, before the
// process's umask; an existing file keeps its own. An error names path and leaves an
// existing file unchanged.
func Write(path string, data []byte, mode fs.FileMode) error {
	if err := write(path, data, mode); err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: bare(err)}
	}
	return nil
}

// WriteFrom is Write for a file that is never in memory as a whole: write writes its data.
func WriteFrom(path string, mode fs.FileMode, write func(io.Writer) error) error {
	if err := writeFrom(path, mode, write); err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: bare(err)}
	}
	return nil
}

func write(path string, data []byte, mode fs.FileMode) error {
	return writeFrom(path, mode, whole(data))
}

// whole returns a function that writes data.
func whole(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func writeFrom(path string, mode fs.FileMode, write func(io.Writer) error) error {
	path, err := Target(path)
	if err != nil {
		return err
	}
	d, err := draft(path, mode, true, write)
	if err != nil {
		return err
	}
	if err := os.Rename(d, path); err != nil {
		_ = os.Remove(d) // the first error is the one to report
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// maxLinks is the number of symbolic links followed, the same as in Linux.
const maxLinks = 40

// errNotRegular rejects devices, pipes and sockets, which a rename would replace.
var errNotRegular = errors.New("not a regular file")

// Target returns the file that a write to path replaces or creates: path itself, or
// the target of a chain of symbolic links starting there. It need not exist. A file
// that is neither regular nor a folder is rejected, as is a link of another user in a
// folder where everybody can put one.
func Target(path string) (string, error) {
	if err := ownLinks(path); err != nil {
		return "", err
	}
	for range maxLinks {
		link, err := os.Readlink(path)
		if err != nil { // no link
			info, err := os.Lstat(path)
			if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
				return "", errNotRegular
			}
			return path, nil
		}
		if !filepath.IsAbs(link) {
			folder, _ := filepath.Split(path)
			link = folder + link // not cleaned: .. of a folder that is a link leads elsewhere
		}
		path = link
	}
	return "", syscall.ELOOP
}

// draft writes a new file in the folder of path, synced to disk. It has the mode of the file at path if it replaces it.
func draft(path string, mode fs.FileMode, replaces bool, write func(io.Writer) error) (string, error) {
	f, err := create(path, mode, replaces)
	if err != nil {
		return "", err
	}
	d := f.Name()
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(d)
		return "", err
	}
	return d, nil
}

// syncFolder syncs the new name to disk, if the system and the file system support
// it.
func syncFolder(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// bare strips the draft's name from an error, which would mean nothing to the
// user.
func bare(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
