//go:build unix && !linux

package apart

import "syscall"

// Attributes makes a program the leader of a process group.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
