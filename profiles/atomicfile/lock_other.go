//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package atomicfile

import (
	"errors"
	"os"
)

// errLocked and errReadOnly are never returned.
var errLocked, errReadOnly = errors.New("locked"), errors.New("read only")

// openLock returns an error: there are no locks.
func openLock(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func tryLock(*os.File) error { return errors.ErrUnsupported }
