//go:build !linux && !darwin

package machine

import "runtime"

// ReadResident reports that resident memory is not supported on this system.
func ReadResident() (rss, peak int64, reason string) {
	return 0, 0, "resident memory is not read on " + runtime.GOOS
}

// ReadWritable returns 0: the writable memory of a process is read on Linux only.
func ReadWritable() int64 { return 0 }
