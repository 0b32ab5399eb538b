//go:build unix && !linux

package terminal

import "golang.org/x/sys/unix"

// dup2 duplicates descriptor from as to.
func dup2(from, to int) error { return unix.Dup2(from, to) }
