package sessions

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// keepSpace keeps n bytes of disk space for a file from a position on, whose size stays what it is.
func keepSpace(f *os.File, from, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, from, n)
}

// forget gives back the space of n bytes of a file, which read as zeros.
func forget(f *os.File, from, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE, from, n)
}

// full reports whether the disk is full, or the user's share of it.
func full(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
