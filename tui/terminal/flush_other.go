//go:build !linux

package terminal

import (
	"io"
	"os"
)

// flushInput does nothing: discarding input is only implemented on Linux.
func flushInput(io.Reader) {}

// flushOutput does nothing: discarding output is only implemented on Linux.
func flushOutput(*os.File) {}

// reopen returns nil: terminals are only known to have separate file descriptions on Linux.
func reopen(*os.File) *os.File { return nil }

// Hush leaves the echo of a terminal as it is: only Linux turns it off here.
func Hush(io.Reader) (restore func()) { return func() {} }
