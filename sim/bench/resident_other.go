//go:build !linux

package bench

import "runtime"

// peakResident is not supported on this system.
func peakResident() (int64, string) {
	return 0, "the peak of resident memory is not read on " + runtime.GOOS
}
