//go:build !unix

package apart

import "syscall"

// Attributes leaves a program as it is: process groups are not known on this system.
func Attributes() *syscall.SysProcAttr { return nil }
