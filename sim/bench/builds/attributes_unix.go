//go:build unix && !linux

package builds

import "syscall"

// attributes makes a program the leader of a process group.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
