package branches

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// A program that left its group and session is ended with its worktree: it would disturb the next task.
func TestAWorktreeEndsWhatRunsInIt(t *testing.T) {
	r := checkout(t, nil)
	p, remove, err := r.worktree(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	program := exec.Command("sleep", "600")
	program.Dir, program.SysProcAttr = p.tree, &syscall.SysProcAttr{Setsid: true}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	_ = program.Wait() // returns only because it was ended
	if s, ok := program.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
		t.Errorf("%v", program.ProcessState)
	}
	if _, err := os.Stat(p.folder); err == nil {
		t.Errorf("%s is left", p.folder)
	}
}
