//go:build !unix

package machine

// Runs reports whether a process of this machine runs; here every one counts as running.
func Runs(int) bool { return true }
