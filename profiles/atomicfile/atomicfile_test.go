package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// names returns the names in a folder.
func names(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestAFileIsReplacedWholeAndNoDraftStays(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.toml")
	for _, text := range []string{"a long first text", "short"} {
		if err := Write(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("the file says %q, want %q (%v)", got, text, err)
		}
	}
	if got := names(t, folder); got != "a.toml" {
		t.Errorf("the folder holds %s", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
}

func TestAPathWithoutAFolderIsOfTheWorkingOne(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := Write("a", []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := names(t, "."); got != "a" {
		t.Errorf("the folder holds %s", got)
	}
}

// An error names the path, not the draft, and leaves the existing file.
func TestAnErrorLeavesWhatWasThere(t *testing.T) {
	folder := t.TempDir()
	taken := filepath.Join(folder, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{taken, filepath.Join(folder, "none", "a"), filepath.Join(folder, strings.Repeat("x", 300))} {
		err := Write(path, []byte("x"), 0o600)
		var named *fs.PathError
		if !errors.As(err, &named) || named.Path != path || strings.Contains(err.Error(), ".part") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := names(t, folder); got != "taken" {
		t.Errorf("the folder holds %s", got)
	}
}

// A link is kept, and its target is written, wherever it is.
func TestALinkIsFollowed(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(elsewhere, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"a": filepath.Join(elsewhere, "a"), "b": "a", "in": filepath.Join(elsewhere, "deep"), // b leads to a link
		"new": "absent", "up": "in/../c", // of the folder behind in, not of this one
	} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Skipf("skipped: no symbolic links here: %v", err)
		}
	}
	for _, c := range []struct{ write, lands string }{
		{filepath.Join(folder, "b"), filepath.Join(elsewhere, "a")},
		{filepath.Join(folder, "new"), filepath.Join(folder, "absent")},
		{filepath.Join(folder, "up"), filepath.Join(elsewhere, "c")},
	} {
		for _, write := range []func(string, []byte) error{
			func(path string, data []byte) error { return Write(path, data, 0o600) },
			func(path string, data []byte) error {
				return WriteTogether([]string{path, filepath.Join(folder, "other")}, [][]byte{data, data}, 0o600)
			},
		} {
			if err := write(c.write, []byte(c.write)); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(c.lands); string(text) != c.write {
				t.Errorf("%s says %q (%v)", c.lands, text, err)
			}
			if info, err := os.Lstat(c.write); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("%s is no link any more: %v (%v)", c.write, info.Mode(), err)
			}
			if err := os.Remove(c.lands); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Only regular files are replaced, and cycles of links are reported.
func TestWhatIsNoFileIsRefused(t *testing.T) {
	folder := t.TempDir()
	null, round := filepath.Join(folder, "null"), filepath.Join(folder, "round")
	if err := errors.Join(os.Symlink(os.DevNull, null), os.Symlink("round", round)); err != nil {
		t.Skipf("skipped: no symbolic links here: %v", err)
	}
	for _, path := range []string{null, round} {
		for _, err := range []error{
			Write(path, []byte("x"), 0o600),
			WriteTogether([]string{filepath.Join(folder, "a"), path}, [][]byte{{'x'}, {'x'}}, 0o600),
		} {
			var named *fs.PathError
			if !errors.As(err, &named) || named.Path != path {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if got := names(t, folder); got != "null round" {
		t.Errorf("the folder holds %s", got)
	}
}
