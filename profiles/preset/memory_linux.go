package preset

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// physicalMemory is the memory this process may use, in bytes: the machine's,
// or its control group's when that is less. 0 when it cannot be told.
func physicalMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	memory := int64(uint64(info.Totalram) * uint64(info.Unit))
	limit, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return memory
	}
	if v, err := strconv.ParseInt(strings.TrimSpace(string(limit)), 10, 64); err == nil && v < memory {
		return v
	}
	return memory
}
