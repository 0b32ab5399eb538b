//go:build !unix

package tui

import (
	"errors"
	"io"
	"os"
)

// stray would catch what is printed beside the screen.
type stray struct{ terminal *os.File }

func catchStray() (*stray, error) { return nil, errors.ErrUnsupported }

func (*stray) release()              {}
func (*stray) take() ([]string, int) { return nil, 0 }
func (*stray) replay(io.Writer)      {}
