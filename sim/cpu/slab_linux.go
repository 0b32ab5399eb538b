package cpu

import (
	"syscall"
	"unsafe"
)

// adviseHuge asks for huge pages, which Linux may not have. With them, a pass over a slab translates an address for
// every 2 MiB instead of every 4 KiB. The pages at both ends hold other memory of the heap, too.
func adviseHuge(base unsafe.Pointer, size int64) {
	from, to := uintptr(base)&^(hugePage-1), (uintptr(base)+uintptr(size)+hugePage-1)&^(hugePage-1)
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_HUGEPAGE)
}
