//go:build unix

package peer

import (
	"os/exec"
	"syscall"
)

// group is a command and the processes that it begins.
type group struct{ cmd *exec.Cmd }

// inGroup makes a command that was not started yet the head of a group of its own.
func inGroup(cmd *exec.Cmd) group {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return group{cmd}
}

// end asks the group to end, or ends it.
func (g group) end(now bool) error {
	if g.cmd.Process == nil {
		return nil
	}
	signal := syscall.SIGTERM
	if now {
		signal = syscall.SIGKILL
	}
	return syscall.Kill(-g.cmd.Process.Pid, signal)
}
