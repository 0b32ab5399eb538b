package loop

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// Folders of other versions are removed once they are old and no process was started with them.
func TestFoldersOfOtherVersionsAreRemoved(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("environments of processes are read on Linux alone")
	}
	below := t.TempDir()
	long := time.Now().Add(-2 * abandonedAfter)
	for _, name := range []string{"python-old", "python-used", "python-new", "program-old"} {
		path := filepath.Join(below, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "prismtop.py"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if name != "python-new" {
			if err := os.Chtimes(path, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	user := exec.Command("cat")
	user.Env = []string{"PYTHONPATH=" + filepath.Join(below, "python-used") + ":/elsewhere"}
	input, err := user.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := user.Start(); err != nil {
		t.Skip(err)
	}
	defer user.Wait()
	defer input.Close()
	ours, err := Install(below)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(ours, "prismtop_torch.py")); err != nil {
		t.Error(err)
	}
	for name, stays := range map[string]bool{"python-old": false, "python-used": true, "python-new": true, "program-old": true} {
		if _, err := os.Stat(filepath.Join(below, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}
