//go:build !linux && !darwin

package machine

import "runtime"

// ReadResident reports that resident memory is not supported on this system.
func ReadResident() (rss, peak int64, reason string) {
	return 0, 0, "resident memory is not read on " + runtime.GOOS
}

// ResetPeak is not supported on this system.
func ResetPeak() (reason string) { return "the peak of resident memory cannot be reset on this system" }
