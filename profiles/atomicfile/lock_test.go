//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// envHold names to a process of this test the file that it locks until it is killed.
const envHold = "ATOMICFILE_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(envHold); path != "" {
		_, err := LockPath(path, "the other")
		fmt.Println("locked", err)
		select {}
	}
	os.Exit(m.Run())
}

// One process at a time has the lock of a file, whichever path leads to it, and nothing is left of it.
func TestALockIsOfOneProcess(t *testing.T) {
	folder := t.TempDir()
	path, link := filepath.Join(folder, "a"), filepath.Join(folder, "link")
	if err := os.Symlink("a", link); err != nil {
		t.Skipf("skipped: no symbolic links here: %v", err)
	}
	first, err := LockPath(path, "the first")
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []string{path, link} {
		var locked *LockedError
		if _, err := LockPath(again, "the second"); !errors.As(err, &locked) || locked.Path != again || locked.Owner != "the first" {
			t.Errorf("%s: %v, want a LockedError that names the first", again, err)
		}
	}
	if err := Write(path, []byte("x"), 0o600); err != nil { // the lock is not the file
		t.Error(err)
	}
	first.Release()
	first.Release()
	second, err := LockPath(link, "the second")
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	second.Release()
	if got := names(t, folder); got != "a link" {
		t.Errorf("the folder holds %s", got)
	}
}

// The end of a process releases its lock, even if it was killed.
func TestALockEndsWithItsProcess(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), envHold+"="+path)
	out, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked <nil>\n" {
		t.Fatalf("the other process says %q (%v)", line, err)
	}
	var locked *LockedError
	if _, err := LockPath(path, "this"); !errors.As(err, &locked) || locked.Owner != "the other" {
		t.Errorf("%v, want a LockedError that names the other", err)
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	mine, err := LockPath(path, "this")
	if err != nil {
		t.Fatalf("after the end of its process: %v", err)
	}
	mine.Release()
	if got := names(t, folder); got != "" {
		t.Errorf("the folder holds %s", got)
	}
}

// What a killed process left is removed by the next one that locks any file of the folder; the lock of a process that runs, and
// what is no lock of prismtop, stays.
func TestLocksOfKilledProcessesAreRemoved(t *testing.T) {
	folder := t.TempDir()
	var others []*exec.Cmd
	for _, name := range []string{"a", "b"} {
		other := exec.Command(os.Args[0])
		other.Env = append(os.Environ(), envHold+"="+filepath.Join(folder, name))
		out, err := other.StdoutPipe()
		if err == nil {
			err = other.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked <nil>\n" {
			t.Fatalf("the other process says %q (%v)", line, err)
		}
		others = append(others, other)
	}
	if err := os.WriteFile(filepath.Join(folder, ".other.lock"), []byte("of another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = others[0].Process.Kill()
	_ = others[0].Wait()
	mine, err := LockPath(filepath.Join(folder, "c"), "this")
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, folder); got != ".b.lock .c.lock .other.lock" {
		t.Errorf("the folder holds %s", got)
	}
	mine.Release()
	_ = others[1].Process.Kill()
	_ = others[1].Wait()
	if RemoveDead(folder); names(t, folder) != ".other.lock" {
		t.Errorf("the folder holds %s", names(t, folder))
	}
}

// A link in the place of a lock's file leads nowhere.
func TestALockFollowsNoLinkOfItsOwn(t *testing.T) {
	folder := t.TempDir()
	precious := filepath.Join(folder, "precious")
	if err := os.WriteFile(precious, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("precious", filepath.Join(folder, ".a.lock")); err != nil {
		t.Skipf("skipped: no symbolic links here: %v", err)
	}
	if _, err := LockPath(filepath.Join(folder, "a"), "this"); err == nil {
		t.Error("locked a link")
	}
	if text, err := os.ReadFile(precious); string(text) != "kept" {
		t.Errorf("the file behind the link says %q (%v)", text, err)
	}
}
