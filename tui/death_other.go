//go:build !unix

package tui

// onDeath does nothing: no signals end a process here.
func onDeath(func()) (release func()) { return func() {} }
