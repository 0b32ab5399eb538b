package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles/machine"
)

// Lock is the right to write the file at a path, which one process at a time has. Writing does not
// ask for it: whoever writes a file more than once, or at the end of long work, locks it first.
//
// It is an advisory lock of the operating system on a hidden file beside the path, so that the end
// of the process releases it, whatever ended it. A process that was killed leaves the hidden file,
// which the next one that locks a file of the folder removes.
type Lock struct{ file *os.File }

// LockedError reports that another process has the lock of a path.
type LockedError struct {
	Path  string
	Owner string // as that process named itself; empty if that could not be read
}

func (e *LockedError) Error() string {
	return e.Path + " is being written by " + cmp.Or(e.Owner, "another process")
}

// lockSuffix ends the name of a lock's file.
const lockSuffix = "lock"

// longestOwner bounds what is read from a lock's file.
const longestOwner = 1 << 10

// LockPath locks the file that path leads to; owner names this process to those that ask for it, too.
// The folder of path must exist. A LockedError names the process that has the lock. Where the system or
// the file system has no locks, everybody gets one.
func LockPath(path, owner string) (*Lock, error) {
	target, err := Target(path)
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: path, Err: bare(err)}
	}
	folder, base := filepath.Split(target)
	name := filepath.Join(cmp.Or(folder, "."), draftPrefix(base)+lockSuffix)
	for tries := 0; ; tries++ {
		f, err := openLock(name)
		if errors.Is(err, errors.ErrUnsupported) {
			return &Lock{}, nil
		}
		if err != nil {
			return nil, &fs.PathError{Op: "lock", Path: path, Err: bare(err)}
		}
		switch err := tryLock(f); {
		case errors.Is(err, errLocked):
			has, dead := ownerOf(f)
			_ = f.Close()
			if dead && tries < 100 { // another process is removing it
				time.Sleep(time.Millisecond)
				continue
			}
			return nil, &LockedError{path, has}
		case errors.Is(err, errReadOnly): // of another user, on a file system that locks only what it may write
			_ = f.Close()
			return &Lock{}, nil
		case err != nil: // there are no locks here
			_ = os.Remove(name)
			_ = f.Close()
			return &Lock{}, nil
		}
		if !sameFile(f, name) { // the process that had it has just removed it
			_ = f.Close()
			continue
		}
		if f.Truncate(0) == nil { // fails if another user's process left it
			_, _ = f.WriteAt(fmt.Appendf(nil, "%s\n%s %d", owner, machine.Host(), os.Getpid()), 0)
		}
		RemoveDead(filepath.Dir(name))
		return &Lock{f}, nil
	}
}

// ownerOf returns the owner that a lock's file names, and whether it was a process of this machine that has ended.
func ownerOf(f *os.File) (owner string, dead bool) {
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, longestOwner))
	owner, process, _ := strings.Cut(string(text), "\n")
	host, number, _ := strings.Cut(process, " ")
	pid, err := strconv.Atoi(number)
	return owner, err == nil && pid > 0 && host == machine.Host() && !machine.Runs(pid)
}

// RemoveDead removes the files of locks from a folder that processes of this machine left when they were killed.
func RemoveDead(folder string) {
	f, err := os.Open(folder)
	if err != nil {
		return
	}
	names, _ := f.Readdirnames(-1)
	_ = f.Close()
	for _, name := range names {
		if strings.HasPrefix(name, ".") && strings.HasSuffix(name, "."+lockSuffix) {
			removeDead(filepath.Join(folder, name))
		}
	}
}

// removeDead removes the file of a lock if its process has ended and no other has taken it over.
func removeDead(name string) {
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return
	}
	_, dead := ownerOf(f)
	if dead && tryLock(f) == nil {
		if _, dead = ownerOf(f); dead && sameFile(f, name) {
			(&Lock{f}).Release()
			return
		}
	}
	_ = f.Close()
}

// sameFile reports whether an open file is the one that has a name.
func sameFile(f *os.File, name string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(open, named)
}

// Release gives the lock back.
func (l *Lock) Release() {
	if l.file == nil {
		return
	}
	kept := os.Remove(l.file.Name()) // before the lock is free, or it would be the next one's
	_ = l.file.Close()
	if kept != nil { // Windows removes no open file, and so none of the next one's
		_ = os.Remove(l.file.Name())
	}
	l.file = nil
}

// TryLock locks an open file of this program, until it is closed, and reports whether no other process had it.
func TryLock(f *os.File) bool { return tryLock(f) == nil }
