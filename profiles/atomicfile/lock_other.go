//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import (
	"errors"
	"os"
)

// errLocked is never returned.
var errLocked = errors.New("locked")

func openLock(name string) (*os.File, error) { return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666) }

// tryLock returns an error: there are no locks.
func tryLock(*os.File) error { return errors.ErrUnsupported }
