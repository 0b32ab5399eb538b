//go:build !linux

package cpu

import "unsafe"

// adviseHuge asks for huge pages on Linux.
func adviseHuge(unsafe.Pointer, int64) {}
