package preset

import "golang.org/x/sys/unix"

// physicalMemory is the machine's memory in bytes, 0 when it cannot be told.
func physicalMemory() int64 {
	size, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(size)
}
