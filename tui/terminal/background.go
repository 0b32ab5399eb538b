package terminal

import "time"

// This file waits for the foreground: the system stops a process that reads the terminal or sets
// its modes from the background of its shell.

// foregroundPeriod is the interval at which a background process checks whether it is in the
// foreground.
const foregroundPeriod = 200 * time.Millisecond

// AwaitForeground waits until the process is in the foreground of the terminal fd, or
// done is closed.
func AwaitForeground(fd uintptr, done <-chan struct{}) {
	tick := time.NewTicker(foregroundPeriod)
	defer tick.Stop()
	for !InForeground(fd) {
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
}
