//go:build nogpu

package kernels

var archive []byte
