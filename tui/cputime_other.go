//go:build !linux

package tui

import "time"

var processStart = time.Now()

// threadTime is wall time where a thread's processor time cannot be read: it
// counts the time that others took from the screen as the screen's own.
func threadTime() time.Duration { return time.Since(processStart) }
