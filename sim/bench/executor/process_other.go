//go:build !unix

package executor

import (
	"os/exec"

	"prismtop/sim/bench/builds"
)

// terminate ends a process: this system has no signals that ask it to.
func terminate(cmd *exec.Cmd) { kill(cmd) }

// kill ends a process.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// pause reports that a process cannot be stopped on this system.
func (r *running) pause() error { return builds.ErrUnsupported }

// goOn reports that a process cannot be continued on this system.
func (r *running) goOn() error { return builds.ErrUnsupported }
