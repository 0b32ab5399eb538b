//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// errLocked reports a lock that another process has, errReadOnly a file that can only be read where that
// is not enough.
var errLocked, errReadOnly error = unix.EWOULDBLOCK, unix.EBADF

// openLock opens the file of a lock. One of another user can perhaps only be read, which is enough
// to lock it. A symbolic link is rejected, or a lock would empty the file it leads to.
func openLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o666)
	if errors.Is(err, fs.ErrPermission) {
		if readable, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); err == nil {
			return readable, nil
		}
	}
	return f, err
}

// tryLock locks an open file, or returns errLocked at once.
func tryLock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EINTR {
			return err
		}
	}
}
