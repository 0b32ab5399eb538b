package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// errLocked reports a lock that another process has. errReadOnly is never returned: a file that can only be read is
// locked all the same.
var errLocked, errReadOnly error = windows.ERROR_LOCK_VIOLATION, errors.New("read only")

// openLock opens the file of a lock.
func openLock(name string) (*os.File, error) { return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666) }

// tryLock locks an open file, or returns errLocked at once. What is locked on Windows cannot be read: it is a byte
// behind all that the file has.
func tryLock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}
