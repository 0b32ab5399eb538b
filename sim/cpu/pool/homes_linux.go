package pool

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// everywhere are the processors that this process could use when it began.
var everywhere = func() (set unix.CPUSet) {
	if unix.SchedGetaffinity(0, &set) != nil { // there are more than a set can hold
		set.Zero()
	}
	return set
}()

// permitted lists the processors that this process may use.
func permitted() (all []int) {
	for i := 0; len(all) < everywhere.Count(); i++ {
		if everywhere.IsSet(i) {
			all = append(all, i)
		}
	}
	return all
}

// processor returns the processor that the caller runs on.
func processor() int {
	var n uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&n)), 0, 0); errno != 0 {
		return -1
	}
	return int(n)
}

// unrestricted reports whether the calling thread may use every processor of the process.
func unrestricted() bool {
	var set unix.CPUSet
	return unix.SchedGetaffinity(0, &set) == nil && set == everywhere
}

// threadTime returns the processor time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// keep restricts the calling thread to a processor.
func keep(processor int) bool {
	var set unix.CPUSet
	set.Set(processor)
	return unix.SchedSetaffinity(0, &set) == nil
}

// roam lets the calling thread use every processor again.
func roam() {
	all := everywhere
	_ = unix.SchedSetaffinity(0, &all) // fails only where settling failed
}
