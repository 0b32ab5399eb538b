//go:build !unix

package loop

import "time"

var origin = time.Now()

// Now returns the nanoseconds since this process began: on this system, no other clock is shared with a loop.
func Now() int64 { return int64(time.Since(origin)) }
