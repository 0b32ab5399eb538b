package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// names are what lies in a folder.
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

// An error names the path, not the draft, and leaves what was there.
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
