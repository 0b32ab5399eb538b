package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prismtop/profiles/atomicfile"
)

// Claims are the files that flags name, by their resolved paths: none may be written twice, nor over
// one that is read.
type Claims map[string]claim

// claim is what a flag names.
type claim struct {
	by     string           // the flag
	path   string           // as given
	there  bool             // a file was at the path when it was noted
	locked bool             // while Hold holds it
	lock   *atomicfile.Lock // nil while it is not held
}

// Read notes files that are read for the thing named by.
func (c Claims) Read(by string, paths ...string) error {
	for _, path := range paths {
		at, err := resolved(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		c[at] = claim{by: by, path: path}
	}
	return nil
}

// Write notes files that are written for the thing named by, and returns an error if one of them
// belongs to another.
func (c Claims) Write(by string, paths ...string) error { return c.note(true, by, paths) }

// Replace is Write for files that may be replaced only if prismtop wrote them, of which own is true; the paths are of
// files written together, as atomicfile.Replaceable takes them.
func (c Claims) Replace(by string, own func(path string) bool, paths ...string) error {
	if err := c.Write(by, paths...); err != nil {
		return err
	}
	if err := atomicfile.Replaceable(own, paths...); err != nil {
		return fmt.Errorf("%s: %w", by, err)
	}
	return nil
}

// Replaced reports whether a file that was written replaced one, which was there when it was noted.
func (c Claims) Replaced(path string) bool {
	at, err := resolved(path)
	return err == nil && c[at].there
}

// Marked returns the paths of files that were written as they are shown: with a note where one was replaced.
func (c Claims) Marked(paths ...string) []string {
	marked := slices.Clone(paths)
	for i, path := range paths {
		if c.Replaced(path) {
			marked[i] += " (replaced)"
		}
	}
	return marked
}

// Append is Write for files that several processes may append to at the same time: Hold leaves them out.
func (c Claims) Append(by string, paths ...string) error { return c.note(false, by, paths) }

// Beside has Hold lock one more file, which is not written: one that is noted already stays as it is.
func (c Claims) Beside(by, path string) {
	if at, err := resolved(path); err == nil {
		if _, taken := c[at]; !taken {
			c[at] = claim{by: by, path: path, locked: true}
		}
	}
}

// note notes files for Write and Append, which differ in whether Hold locks them.
func (c Claims) note(locked bool, by string, paths []string) error {
	for _, path := range paths {
		at, err := resolved(path)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", by, path, err)
		}
		if other, taken := c[at]; taken {
			return fmt.Errorf("%s: %s is the file of %s: must be another", by, path,
				strings.TrimPrefix(other.by, "flag "))
		}
		info, err := os.Stat(at)
		there := err == nil && info.Mode().IsRegular() && info.Size() > 0
		c[at] = claim{by: by, path: path, there: there, locked: locked}
	}
	return nil
}

// Hold keeps other processes from writing the files noted by Write until Release, or until this
// process ends. The error names the file and the process that writes it. Files in folders that do
// not exist yet are left out; another call holds them, too.
func (c Claims) Hold() error {
	for _, at := range slices.Sorted(maps.Keys(c)) {
		of := c[at]
		if !of.locked || of.lock != nil {
			continue
		}
		var err error
		if of.lock, err = atomicfile.LockPath(of.path, thisProcess()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", of.by, err)
		}
		c[at] = of
	}
	return nil
}

// Add notes another file, and keeps other processes from writing it until Release.
func (c Claims) Add(path string) error {
	if err := c.Write("", path); err != nil {
		return err
	}
	at, err := resolved(path)
	if err != nil {
		return err
	}
	of := c[at]
	if of.lock, err = atomicfile.LockPath(path, thisProcess()); err != nil {
		delete(c, at)
		return err
	}
	c[at] = of
	return nil
}

// Release ends Hold.
func (c Claims) Release() {
	for at, of := range c {
		if of.lock != nil {
			of.lock.Release()
			of.lock = nil
			c[at] = of
		}
	}
}

// longestLine bounds the command line in the name of a process, in bytes.
const longestLine = 200

// thisProcess names this process to the user of another one.
func thisProcess() string {
	line := strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " ")
	if len(line) > longestLine {
		line = strings.ToValidUTF8(line[:longestLine], "") + "…"
	}
	return fmt.Sprintf("process %d, begun at %s: %s", os.Getpid(), time.Now().Format("15:04:05 on 2006-01-02"), line)
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

// WritableFiles checks that files in the folder of base can be written, which a flag gives, and that what it gives is
// the name of no folder or device.
func WritableFiles(flag, given, base string, paths ...string) error {
	folder, name := filepath.Split(base)
	if name == "" || name == "." || name == ".." {
		return fmt.Errorf("flag --%s: %q: wants a file name", flag, given)
	}
	if folder == "" {
		folder = "."
	}
	if err := Writable(filepath.Clean(folder)); err != nil {
		return Refused(fmt.Errorf("flag --%s: %q: %w", flag, given, err))
	}
	for _, path := range append([]string{given}, paths...) {
		target, err := atomicfile.Target(path)
		if err != nil {
			return fmt.Errorf("flag --%s: %s: %w", flag, path, err)
		}
		if behind := filepath.Dir(target); behind != filepath.Dir(path) { // the target of a link
			if err := Writable(behind); err != nil {
				return Refused(fmt.Errorf("flag --%s: %s leads elsewhere: %w", flag, path, err))
			}
		}
		info, err := os.Stat(target)
		switch {
		case err == nil && info.IsDir():
			return fmt.Errorf("flag --%s: %s is a folder: wants a file name", flag, path)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("flag --%s: %q: %w", flag, given, Bare(err))
		}
	}
	return nil
}

// Writable checks whether a file can be created in a folder. Its error names the folder.
func Writable(folder string) error {
	probe, err := os.CreateTemp(folder, ".prismtop-*")
	switch _, missing := os.Stat(folder); {
	case errors.Is(missing, fs.ErrNotExist):
		return fmt.Errorf("the folder %s does not exist", folder)
	case err != nil: // also where a folder that is there says that a file is not, as /proc does
		return fmt.Errorf("the folder %s cannot be written: %w", folder, Bare(err))
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// Bare returns an error without its operation and path.
func Bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
