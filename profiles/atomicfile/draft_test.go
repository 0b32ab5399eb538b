package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/profiles/machine"
)

// Until Commit nothing is at the path, or the old file is.
func TestADraftReplacesAFileOnlyWhenItIsCommitted(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	d, err := Create(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"in ", "two parts"} {
		if _, err := d.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(); got != "old" {
		t.Errorf("before Commit the file says %q", got)
	}
	if got := names(t, folder); !strings.HasSuffix(got, ".part a") && !strings.HasPrefix(got, ".a.") {
		t.Errorf("before Commit the folder holds %s", got)
	}
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
	if d.Discard(); read() != "in two parts" || names(t, folder) != "a" {
		t.Errorf("after Commit the file says %q, and the folder holds %s", read(), names(t, folder))
	}

	d, err = Create(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	d.Write([]byte("not kept"))
	if d.Discard(); read() != "in two parts" || names(t, folder) != "a" {
		t.Errorf("after Discard the file says %q, and the folder holds %s", read(), names(t, folder))
	}
}

// The error of a write is kept, names the path, and leaves the old file alone.
func TestADraftThatCannotBeWrittenLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	d, err := Create(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	hidden := d.file.Name()
	if err := d.file.Close(); err != nil { // every write fails now
		t.Fatal(err)
	}
	if _, err = os.Stat(hidden); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var named *fs.PathError
		if _, err := d.Write([]byte("x")); !errors.As(err, &named) || named.Path != path || strings.Contains(err.Error(), ".part") {
			t.Errorf("Write: %v", err)
		}
	}
	if err := d.Commit(); err == nil || !errors.Is(err, d.Err()) {
		t.Errorf("Commit: %v, want the error of Write", err)
	}
	if got := names(t, folder); got != "" {
		t.Errorf("the folder holds %s", got)
	}
	for _, bad := range []string{folder, filepath.Join(folder, "none", "a")} {
		var named *fs.PathError
		if _, err := Create(bad, 0o600); !errors.As(err, &named) || named.Path != bad {
			t.Errorf("Create %s: %v", bad, err)
		}
	}
}

// The draft of a program that was killed is removed when its file is written next; others stay.
func TestDraftsOfKilledProgramsAreRemoved(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	gone := exec.Command(os.Args[0], "-test.run", "^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	kept := []string{
		".b." + machine.Host() + fmt.Sprintf("-%d-00.part", gone.Process.Pid),   // of another file
		".a." + machine.Host() + fmt.Sprintf("-%d-00.part", os.Getpid()),        // of a program that runs
		".a.00000000" + fmt.Sprintf("-%d-00.part", gone.Process.Pid),            // of another machine
		".a." + machine.Host() + fmt.Sprintf("-%d-00.partly", gone.Process.Pid), // no draft
		".a." + machine.Host() + fmt.Sprintf("-%d-00-0.part", gone.Process.Pid), // likewise
		".a.a." + machine.Host() + fmt.Sprintf("-%d-00.part", gone.Process.Pid), // of another file
		".a.0123456789ab.part", // of an older version
	}
	stale := ".a." + machine.Host() + fmt.Sprintf("-%d-00.part", gone.Process.Pid)
	for _, name := range append([]string{stale}, kept...) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(folder, stale)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the draft of a killed program stays (%v)", err)
	}
	for _, name := range kept {
		if _, err := os.Lstat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
}
