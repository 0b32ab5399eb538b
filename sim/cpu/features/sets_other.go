//go:build !amd64 && !arm64

package features

// sets is empty: this architecture has only the plain Go kernels.
func sets() []set { return nil }
