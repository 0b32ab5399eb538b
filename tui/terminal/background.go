package terminal

import "time"

// This file waits for the foreground: in the background of its shell the system stops
// whoever reads the terminal or sets its modes.

// foregroundPeriod is how often a program in the background looks where it is.
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
