//go:build unix && !linux

package terminal

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dup2 duplicates descriptor from as to.
func dup2(from, to int) error { return unix.Dup2(from, to) }

// raise sends a signal to the process.
func raise(s syscall.Signal) error { return unix.Kill(unix.Getpid(), s) }
