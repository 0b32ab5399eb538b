//go:build !linux

package pool

import "time"

// Elsewhere threads are the operating system's to place.

func permitted() []int          { return nil }
func processor() int            { return -1 }
func unrestricted() bool        { return false }
func threadTime() time.Duration { return 0 }
func keep(int) bool             { return false }
func roam()                     {}
