//go:build !unix

package tui

// onDeath does nothing: no signals end a process here.
func onDeath(func() bool) (release func()) { return func() {} }
