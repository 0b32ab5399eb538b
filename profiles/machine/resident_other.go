//go:build !linux && !darwin

package machine

import "runtime"

// ReadResident says that resident memory is not read here.
func ReadResident() (rss, peak int64, reason string) {
	return 0, 0, "resident memory is not read on " + runtime.GOOS
}
