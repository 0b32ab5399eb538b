package terminal

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dup2 duplicates descriptor from as to. Newer architectures lack the system call dup2.
func dup2(from, to int) error { return unix.Dup3(from, to, 0) }

// raise sends a signal to the calling thread. One sent to the process may reach a thread that is not
// Go's, as that of the race detector, where the runtime lets the process die without a dump.
func raise(s syscall.Signal) error { return unix.Tgkill(unix.Getpid(), unix.Gettid(), s) }
