//go:build !unix

package terminal

import (
	"errors"
	"io"
	"os"
)

// Stray would catch what is printed beside the screen.
type Stray struct{}

// CatchStray fails: nothing can be caught here.
func CatchStray() (*Stray, error) { return nil, errors.ErrUnsupported }

// Terminal is nil: nothing was put in the place of standard output.
func (*Stray) Terminal() *os.File { return nil }

// Release does nothing.
func (*Stray) Release() {}

// Add forgets the line.
func (*Stray) Add(string) {}

// Take is nothing: nothing was caught.
func (*Stray) Take() (lines []string, lost int) { return nil, 0 }

// Replay writes nothing.
func (*Stray) Replay(io.Writer) {}
