//go:build !linux

package machine

import "runtime"

// ReadLoad is not supported on this system.
func ReadLoad() Load {
	return Load{Reason: "processor time of other programs is not read on " + runtime.GOOS}
}
