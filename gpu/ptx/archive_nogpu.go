//go:build nogpu

package ptx

var archive []byte
