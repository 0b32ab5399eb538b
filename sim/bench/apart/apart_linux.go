package apart

import "syscall"

// Attributes makes a program the leader of a process group, and has the system kill it should this
// program be killed. That depends on the thread that starts it, which Go keeps.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
