//go:build !linux

package machine

// OOMKills is not known on this system.
func OOMKills() (n int64, ok bool) { return 0, false }
