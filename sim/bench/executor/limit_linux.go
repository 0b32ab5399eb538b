package executor

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// spare is what the limit of writable memory adds to that of resident memory: stacks of threads and space of heaps that
// are mapped and not used.
const spare = 192 << 20

// restrict limits the memory of a process that has just been started: far beyond it, allocations fail and the process
// ends, before its pages are touched. What is used between is compared with the limit once it has ended. 0 is no limit.
func restrict(cmd *exec.Cmd, bytes int64) {
	if limit := uint64(bytes + spare); bytes > 0 {
		// A process that has ended has no limit any more.
		_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}, nil)
	}
}
