//go:build !linux

package machine

import "time"

var processStart = time.Now()

// ThreadTime is wall time where a thread's processor time cannot be read: it
// counts the time that others took from the screen as the screen's own.
func ThreadTime() time.Duration { return time.Since(processStart) }
