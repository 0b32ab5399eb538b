//go:build !unix

package terminal

import (
	"io"
	"os"
)

// ownsTTY says that Bubble Tea sets the terminal's modes.
const ownsTTY = false

// InForeground is true: no shell has job control here.
func InForeground(uintptr) bool { return true }

func onResize(chan<- os.Signal) {}

// screenOutput is what Bubble Tea writes to, and finds the terminal behind.
func screenOutput(out *Output, f *os.File) io.Writer {
	if f == nil {
		return out
	}
	return terminalOutput{out, f}
}

// terminalOutput is an output on a terminal's file.
type terminalOutput struct {
	*Output
	file *os.File
}

func (t terminalOutput) Read(p []byte) (int, error) { return t.file.Read(p) }
func (t terminalOutput) Close() error               { return nil }
func (t terminalOutput) Fd() uintptr                { return t.file.Fd() }
