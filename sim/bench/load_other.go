//go:build !linux

package bench

import "runtime"

// readLoad has no source on this system.
func readLoad() (load, string) {
	return load{}, "processor time of other programs is not read on " + runtime.GOOS
}

// peakResident has no source on this system.
func peakResident() (int64, string) {
	return 0, "the peak of resident memory is not read on " + runtime.GOOS
}
