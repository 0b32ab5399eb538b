//go:build !unix

package tui

import "io"

// fromShell is in: no shell stops who reads.
func fromShell(in io.Reader, _ <-chan struct{}) (r io.Reader, release func()) { return in, func() {} }
