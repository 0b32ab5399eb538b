package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/profiles/atomicfile"
	"prismtop/tui/command/cli"
)

// Of two benchmarks with the same folder, the second one is refused while the first measures, with
// --force too. Later the files of the first stay unless they may be replaced.
func TestTwoBenchmarksDoNotWriteTheSameFolder(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	path := filepath.Join(made, "reports")
	names := []string{"a.json", filepath.Join("profiling", "a.txt")}
	folder := func() *outputFolder { return &outputFolder{path: path, claims: cli.Claims{}} }
	first := folder()
	if err := first.prepare(names, false); err != nil {
		t.Fatal(err)
	}
	for _, replace := range []bool{false, true} {
		err := folder().prepare(names[1:], replace)
		var locked *atomicfile.LockedError
		if !errors.As(err, &locked) {
			if err == nil {
				t.Skip("no locks here")
			}
			t.Errorf("replace %v: %v", replace, err)
		}
		if status := cli.ExitStatus(cli.BadUsage(err)); status != cli.StatusFailed {
			t.Errorf("replace %v: status %d", replace, status)
		}
	}
	other := folder()
	if err := other.prepare([]string{"b.json"}, false); err != nil {
		t.Errorf("other files in the same folder: %v", err)
	}
	other.close()
	if err := first.write(names, [][]byte{[]byte("a"), []byte("b")}); err != nil {
		t.Fatal(err)
	}
	first.close()
	if err := folder().prepare(names, false); err == nil || !strings.Contains(err.Error(), "a.json is there already") {
		t.Errorf("files that are there: %v", err)
	}
	again := folder()
	if err := again.prepare(names, true); err != nil {
		t.Error(err)
	}
	again.close()
	if text, err := os.ReadFile(filepath.Join(path, names[1])); err != nil || string(text) != "b" {
		t.Errorf("%q, %v", text, err)
	}
}

// A folder that was made for nothing is removed, and so are the locks in it.
func TestAFolderMadeForNothingIsRemoved(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	o := &outputFolder{path: filepath.Join(made, "reports"), claims: cli.Claims{}}
	if err := o.prepare([]string{filepath.Join("profiling", "a.txt")}, false); err != nil {
		t.Fatal(err)
	}
	o.close()
	if _, err := os.Lstat(made); err == nil {
		t.Errorf("%s is left behind", made)
	}
}
