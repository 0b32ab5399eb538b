//go:build !amd64 && !arm64

package features

// sets is empty: no kernel is written for this architecture but the plain one.
func sets() []set { return nil }
