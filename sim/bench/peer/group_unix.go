//go:build unix

package peer

import (
	"os/exec"
	"syscall"
)

// group is a command and its child processes.
type group struct{ cmd *exec.Cmd }

// inGroup makes a command that has not been started the leader of a new process
// group.
func inGroup(cmd *exec.Cmd) group {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return group{cmd}
}

// end asks the group to terminate, or kills it.
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
