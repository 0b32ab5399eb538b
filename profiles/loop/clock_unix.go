//go:build unix

package loop

import "golang.org/x/sys/unix"

// Now returns the time of CLOCK_MONOTONIC, in nanoseconds.
func Now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // never fails
	return t.Nano()
}
