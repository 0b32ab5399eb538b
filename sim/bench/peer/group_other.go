//go:build !unix

package peer

import "os/exec"

// group is a single command, on systems without process groups.
type group struct{ cmd *exec.Cmd }

func inGroup(cmd *exec.Cmd) group { return group{cmd} }

// end ends the command.
func (g group) end(bool) error {
	if g.cmd.Process == nil {
		return nil
	}
	return g.cmd.Process.Kill()
}
