// Package library opens shared libraries at run time, without cgo: those of the NVIDIA driver, which a machine without
// a GPU lacks. It is empty on systems other than Linux, and with the build tag nogpu, which makes a static binary.
package library

import "bytes"

// Text returns the string in a NUL-terminated buffer.
func Text(buffer []byte) string {
	s, _, _ := bytes.Cut(buffer, []byte{0})
	return string(s)
}
