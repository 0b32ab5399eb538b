//go:build unix

package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Two runs at a time never write the same file: the second says at its start which run has it, and
// nothing of the first is lost. A run that was killed leaves the file to the next.
func TestTwoRunsDoNotWriteTheSameFile(t *testing.T) {
	t.Chdir(t.TempDir())
	short := "run --headless --no-record --max-iterations 3 " + tiny
	first := exec.Command("prismtop", strings.Fields("run --headless --record first.sqlite "+unended+" --checkpoint c.npz --export csv=e.csv --save s")...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Process.Kill()
	locks := []string{".c.npz.lock", ".e.csv.lock", ".e.changes.csv.lock", ".s.png.lock", ".s.npy.lock"}
	for _, name := range locks {
		awaitFile(t, name)
	}
	for args, flag := range map[string]string{
		"--checkpoint ./c.npz":          "flag --checkpoint: ./c.npz",
		"--checkpoint c-best.npz":       "flag --checkpoint: c.npz", // where it may keep its best one
		"--checkpoint c-0000000012.npz": "flag --checkpoint: c.npz",
		"--export csv=e.csv":            `flag --export: "csv=e.csv": e.changes.csv`,
		"--export md=e.changes.csv":     `flag --export: "md=e.changes.csv": e.changes.csv`,
		"--save s":                      "flag --save: s.npy",
		"--json --checkpoint c.npz":     "flag --checkpoint: c.npz",
		"--lines --checkpoint c.npz":    "flag --checkpoint: c.npz",
	} {
		status, text := ended(t, exec.Command("prismtop", strings.Fields(strings.Replace(short, "--headless", "", 1)+" "+args)...))
		want := fmt.Sprintf("%s is being written by process %d, begun at ", flag, first.Process.Pid)
		if status != 1 || !strings.Contains(text, want) || !strings.Contains(text, "prismtop run --headless") {
			t.Errorf("%s: status %d, %q; want 1, and %q", args, status, text, want)
		}
	}
	for deadline := time.Now().Add(60 * time.Second); ; { // the recording may not have begun
		status, text := ended(t, exec.Command("prismtop", "export", "first.sqlite", "csv=e.csv"))
		if status == 1 && strings.Contains(text, "e.changes.csv is being written by") {
			break
		}
		if status != 1 || time.Now().After(deadline) {
			t.Errorf("export: status %d, %q", status, text)
			break
		}
	}
	for args, want := range map[string]string{
		"weights export --from none.npz --to c.npz":         "flag --to: c.npz is being written by",
		"bench scaling --plot e.csv --seconds 1 --sizes 64": "flag --plot: e.csv is being written by",
	} {
		if status, text := ended(t, exec.Command("prismtop", strings.Fields(args)...)); status != 1 || !strings.Contains(text, want) {
			t.Errorf("%s: status %d, %q; want 1, and %q", args, status, text, want)
		}
	}
	if err := first.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status, _ := ended(t, first); status != 130 {
		t.Errorf("the first run ended with %d", status)
	}
	for _, name := range []string{"c.npz", "e.csv", "e.changes.csv", "s.npy"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range locks {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s is left behind", name)
		}
	}

	killed := exec.Command("prismtop", strings.Fields("run --headless --no-record "+unended+" --checkpoint k.npz")...)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, ".k.npz.lock")
	_ = killed.Process.Signal(syscall.SIGKILL)
	_ = killed.Wait()
	if status, text := ended(t, exec.Command("prismtop", strings.Fields(short+" --checkpoint k.npz")...)); status != 0 {
		t.Errorf("after a killed run: status %d, %s", status, text)
	}
}

// A run that was killed is said to be, whatever reads its recording.
func TestAKilledRunIsCalledKilled(t *testing.T) {
	skipStarts(t)
	t.Chdir(t.TempDir())
	run := exec.Command("prismtop", strings.Fields("run --headless --record k.sqlite "+unended)...)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if text, err := exec.Command("prismtop", "export", "k.sqlite", "csv=-").Output(); err == nil && strings.Count(string(text), "\n") > 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("waited in vain for recorded iterations")
		}
	}
	_ = run.Process.Kill()
	_ = run.Wait()
	for args, want := range map[string]string{
		"replay k.sqlite --json": `"state": "killed"`, "replay k.sqlite --headless": "running, then the run was killed",
		"export k.sqlite md=-": "| State | killed |", "export k.sqlite svg=-": " killed · ",
	} {
		text, err := exec.Command("prismtop", strings.Fields(args)...).Output()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: no %q (%v)", args, want, err)
		}
	}
	text, _ := exec.Command("prismtop", "replay", "k.sqlite", "--json").Output()
	if !strings.Contains(string(text), `"recording_reason": "the run was killed"`) {
		t.Error("replay --json does not say why the recording lacks the end")
	}
}

// awaitFile waits for a file with contents.
func awaitFile(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if info, err := os.Stat(name); err == nil && info.Size() > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", name)
		}
	}
}

// ended returns how a command ended, which it runs unless it was started, and what it printed as errors.
func ended(t *testing.T, cmd *exec.Cmd) (status int, text string) {
	t.Helper()
	var printed strings.Builder
	var err error
	if cmd.Process == nil {
		cmd.Stderr = &printed
		err = cmd.Run()
	} else {
		err = cmd.Wait()
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), printed.String()
}
