package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadTime is the processor time that the calling thread has used. The caller
// holds its goroutine on the thread between two readings.
func ThreadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
