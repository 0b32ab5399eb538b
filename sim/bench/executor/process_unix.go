//go:build unix

package executor

import (
	"fmt"
	"os/exec"
	"syscall"
)

// terminate asks a process, which may be stopped, to end with whatever it started. The end
// of one that has ended is heard elsewhere.
func terminate(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT)
}

// kill ends it at once.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// pause stops the process until its next turn.
func (r *running) pause() error { return r.turn(syscall.SIGSTOP) }

// goOn begins its turn.
func (r *running) goOn() error { return r.turn(syscall.SIGCONT) }

func (r *running) turn(s syscall.Signal) error {
	if err := syscall.Kill(-r.cmd.Process.Pid, s); err != nil && err != syscall.ESRCH {
		return fmt.Errorf("process %d: %w", r.cmd.Process.Pid, err)
	}
	return nil
}
