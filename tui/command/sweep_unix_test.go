//go:build unix

package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/sweep"
)

// begun starts a sweep of two arms, and returns its folder once the first run has a checkpoint, and the name of that run.
func begun(t *testing.T, program, dir string) (*exec.Cmd, *sweep.Folder, string) {
	t.Helper()
	cmd := exec.Command(program, "sweep", "plan.toml", "--quiet")
	cmd.Dir = dir
	cmd.Stderr = &bytes.Buffer{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		f, err := sweep.Open(t.Context(), filepath.Join(dir, "sw"))
		if err != nil {
			continue
		}
		for _, c := range f.Cells() {
			s, err := f.Read(t.Context(), c)
			if err == nil && s.State == sweep.Running && s.Checkpoint != nil {
				return cmd, f, f.Name(c)
			}
		}
	}
	t.Fatalf("no run has a checkpoint: %s", cmd.Stderr)
	return nil, nil, ""
}

// A sweep that is told to end, or killed, goes on with the same command: from its checkpoints, and nothing runs twice.
func TestAnInterruptedSweepGoesOn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		signal syscall.Signal
		status int
		state  sweep.State
	}{{syscall.SIGTERM, 130, sweep.Interrupted}, {syscall.SIGKILL, -1, sweep.Running}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "prismtop") // by this name the test is the program
			if err := os.Symlink(self, program); err != nil {
				t.Fatal(err)
			}
			plan := "folder = \"sw\"\ncheckpoint_every = \"1s\"\n[base]\npreset = \"curve\"\nmax_seconds = 4\n[grid]\ndegree = [10, 11]\n"
			if err := os.WriteFile(filepath.Join(dir, "plan.toml"), []byte(plan), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd, f, first := begun(t, program, dir)
			read := func(name string) sweep.Status {
				for _, cell := range f.Cells() {
					if f.Name(cell) == name {
						s, err := f.Read(t.Context(), cell)
						if err != nil {
							t.Fatal(err)
						}
						return s
					}
				}
				return sweep.Status{}
			}
			run := read(first).Process
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its status says it
			if got := cmd.ProcessState.ExitCode(); got != c.status {
				t.Errorf("it ended with %d, want %d: %s", got, c.status, cmd.Stderr)
			}
			for deadline := time.Now().Add(time.Minute); machine.Runs(run); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("process %d of the run is left behind", run)
				}
			}
			before := read(first)
			if before.State != c.state {
				t.Errorf("the run is %s, want %s", before.State, c.state)
			}
			again := exec.Command(program, "sweep", "sw", "--quiet")
			again.Dir = dir
			out, err := again.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "2 of 2 runs done") {
				t.Fatalf("again: %v\n%s", err, out)
			}
			for _, cell := range f.Cells() {
				s, err := f.Read(t.Context(), cell)
				want := 1
				if f.Name(cell) == first {
					want = 2
				}
				if err != nil || s.State != sweep.Done || s.Attempt != want || s.Seconds < 3 || f.Name(cell) == first && s.Iterations <= before.Iterations {
					t.Errorf("%s: %+v, %v; want %d starts", f.Name(cell), s, err, want)
				}
			}
		})
	}
}
