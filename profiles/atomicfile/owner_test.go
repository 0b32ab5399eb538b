//go:build unix

package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whatever writes a file keeps the mode of the one it replaces, and that of a draft is never wider.
func TestAReplacedFileKeepsItsMode(t *testing.T) {
	for _, write := range []struct {
		name string
		do   func(path string) error
	}{
		{"Write", func(path string) error { return Write(path, []byte("new"), 0o666) }},
		{"WriteFrom", func(path string) error {
			return WriteFrom(path, 0o666, func(w io.Writer) error { _, err := w.Write([]byte("new")); return err })
		}},
		{"WriteTogether", func(path string) error { return WriteTogether([]string{path}, [][]byte{[]byte("new")}, 0o666) }},
		{"Create", func(path string) error {
			d, err := Create(path, 0o666)
			if err != nil {
				return err
			}
			info, err := d.file.Stat()
			if want, _ := os.Stat(path); err != nil || info.Mode() != want.Mode() {
				t.Errorf("a draft has the mode %v (%v)", info.Mode(), err)
			}
			_, err = d.Write([]byte("new"))
			return errors.Join(err, d.Commit())
		}},
	} {
		for _, mode := range []fs.FileMode{0o600, 0o640, 0o664, 0o444} {
			folder := t.TempDir()
			path, link := filepath.Join(folder, "a"), filepath.Join(folder, "link")
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode), os.Symlink("a", link)); err != nil {
				t.Fatal(err)
			}
			for _, to := range []string{path, link} {
				if err := write.do(to); err != nil {
					t.Errorf("%s: %v", write.name, err)
				}
				info, err := os.Stat(path)
				if text, _ := os.ReadFile(path); err != nil || info.Mode().Perm() != mode || string(text) != "new" {
					t.Errorf("%s: %v says %q (%v), want mode %v", write.name, info.Mode(), text, err, mode)
				}
			}
		}
	}
}

// A new name gets the mode asked for, whatever the file of the first choice has.
func TestANewFileHasItsOwnMode(t *testing.T) {
	folder := t.TempDir()
	first := filepath.Join(folder, "a1")
	if err := os.WriteFile(first, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	path, err := WriteNewFrom(func(n int) string { return filepath.Join(folder, "a"+string(rune('0'+n))) }, 0o600, func(io.Writer) error { return nil })
	if info, _ := os.Stat(path); err != nil || filepath.Base(path) != "a2" || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v (%v)", path, info.Mode(), err)
	}
}

// As root, the owner of a file that is replaced stays.
func TestAReplacedFileKeepsItsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := errors.Join(os.WriteFile(path, nil, 0o640), os.Chown(path, stranger, stranger)); err != nil {
		t.Skipf("skipped: only root can give a file away: %v", err)
	}
	if err := Write(path, []byte("new"), 0o666); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 || uidOf(info) != stranger {
		t.Errorf("%v of user %d (%v)", info.Mode(), uidOf(info), err)
	}
}

// A link that another user put into a folder for everybody leads no write anywhere: as the last name of a path, as a
// folder on the way, or behind a link of one's own.
func TestForeignLinksInStickyFoldersAreRefused(t *testing.T) {
	home, shared := t.TempDir(), t.TempDir()
	precious := filepath.Join(home, "precious")
	if err := errors.Join(os.WriteFile(precious, []byte("kept"), 0o600), os.Chmod(shared, 0o777|fs.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	file, folder := filepath.Join(shared, "w.npz"), filepath.Join(shared, "folder")
	mine, behind := filepath.Join(home, "mine"), filepath.Join(home, "behind")
	if err := errors.Join(os.Symlink(precious, file), os.Symlink(home, folder), os.Symlink(file, mine), os.Symlink(filepath.Join(folder, "precious"), behind)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, mine, behind, filepath.Join(folder, "precious")} {
		if _, err := Target(path); err != nil { // links of one's own
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := errors.Join(os.Lchown(file, stranger, stranger), os.Lchown(folder, stranger, stranger)); err != nil {
		t.Skipf("skipped: only root can give a link away: %v", err)
	}
	for path, link := range map[string]string{file: file, mine: file, behind: folder, filepath.Join(folder, "precious"): folder, filepath.Join(folder, "new"): folder} {
		err := Write(path, []byte("taken"), 0o600)
		var foreign *ForeignLinkError
		if !errors.As(err, &foreign) || foreign.Link != link || foreign.Owner != "user 54321" || !strings.Contains(err.Error(), link) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := LockPath(path, "this"); err == nil {
			t.Errorf("%s: locked", path)
		}
	}
	if text, err := os.ReadFile(precious); string(text) != "kept" {
		t.Errorf("the file says %q (%v)", text, err)
	}
	if err := os.Chmod(shared, 0o755); err != nil { // nobody else can put a link there
		t.Fatal(err)
	}
	if err := Write(file, []byte("new"), 0o600); err != nil {
		t.Error(err)
	}
}

// stranger is a user that no machine has.
const stranger = 54321

func uidOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
