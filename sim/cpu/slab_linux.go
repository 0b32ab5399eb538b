package cpu

import (
	"syscall"
	"unsafe"
)

// hugePage is the size of a huge page of the processors that Linux runs on here.
const hugePage = 2 << 20

// adviseHuge asks for huge pages, which Linux may not have. With them, a pass over a slab translates an address for
// every 2 MiB instead of every 4 KiB.
func adviseHuge(base unsafe.Pointer, size int64) {
	skip := int64(-uintptr(base) & (hugePage - 1))
	if whole := (size - skip) &^ (hugePage - 1); whole > 0 {
		_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Add(base, skip)), whole), syscall.MADV_HUGEPAGE)
	}
}
