//go:build !unix

package terminal

// OnDeath does nothing: no signals end a process here.
func OnDeath(func() bool) (release func()) { return func() {} }
