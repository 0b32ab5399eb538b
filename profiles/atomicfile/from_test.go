package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// A file whose writer fails half-way leaves the older file, and no draft.
func TestAFailedWriterLeavesWhatWasThere(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	if err := WriteFrom(path, 0o600, whole([]byte("older"))); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	half := func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, broken)
	}
	numbered := func(n int) string { return path + strconv.Itoa(n) }
	_, errNew := WriteNewFrom(numbered, 0o600, half)
	for _, err := range []error{WriteFrom(path, 0o600, half), errNew} {
		var named *fs.PathError
		if !errors.Is(err, broken) || !errors.As(err, &named) {
			t.Errorf("the error is %v", err)
		}
	}
	if text, err := os.ReadFile(path); string(text) != "older" || names(t, folder) != "a" {
		t.Errorf("the file says %q (%v) in a folder of %s", text, err, names(t, folder))
	}
}

func TestANewFileTakesTheFirstFreeName(t *testing.T) {
	folder := t.TempDir()
	numbered := func(n int) string { return filepath.Join(folder, strconv.Itoa(n)) }
	for _, text := range []string{"first", "second"} {
		path, err := WriteNewFrom(numbered, 0o600, whole([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text {
			t.Errorf("%s says %q, want %q (%v)", path, got, text, err)
		}
	}
	if got := names(t, folder); got != "1 2" {
		t.Errorf("the folder holds %s", got)
	}
}
