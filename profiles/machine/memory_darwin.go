package machine

import "golang.org/x/sys/unix"

// ReadMemory queries the operating system.
func ReadMemory() Memory {
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return Memory{Reason: "sysctl hw.memsize: " + err.Error()}
	}
	return Memory{Total: int64(total), Reason: "available memory is not read on darwin"}
}
