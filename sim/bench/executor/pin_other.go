//go:build !linux

package executor

import "os/exec"

// processors returns nil: programs are not bound to processors on this system.
func processors(int, int) []int { return nil }

func startOn(cmd *exec.Cmd, _ []int) error { return cmd.Start() }
