//go:build !unix

package tui

import (
	"io"
	"os"
)

// ownsTTY says that Bubble Tea sets the terminal's modes.
const ownsTTY = false

func inForeground(uintptr) bool { return true }

func onResize(chan<- os.Signal) {}

// screenOutput is what Bubble Tea writes to, and finds the terminal behind.
func screenOutput(out *output, f *os.File) io.Writer {
	if f == nil {
		return out
	}
	return terminalOutput{out, f}
}

// terminalOutput is an output on a terminal's file.
type terminalOutput struct {
	*output
	file *os.File
}

func (t terminalOutput) Read(p []byte) (int, error) { return t.file.Read(p) }
func (t terminalOutput) Close() error               { return nil }
func (t terminalOutput) Fd() uintptr                { return t.file.Fd() }
