//go:build !linux && !darwin

package profiles

import "runtime"

// resident says that resident memory is not read here.
func resident() (rss, peak int64, reason string) {
	return 0, 0, "resident memory is not read on " + runtime.GOOS
}
