//go:build !unix

package apart

import "os"

// killed reports false: this system has no signal for a program where memory ends.
func killed(*os.ProcessState) bool { return false }

// killGroup kills a program: process groups are not known on this system.
func killGroup(p *os.Process) error { return p.Kill() }
