//go:build unix

package trial

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"prismtop/profiles/machine"
)

// spare is what the limit of writable memory adds to that of resident memory: stacks of
// threads and space of the Go heap that are mapped and not used.
const spare = 128 << 20

// Restrict limits the memory of this process, of which a part is resident already: far
// beyond it, allocations fail and the process ends, before its pages are touched. What is
// used between is compared with the limit as the trial goes on.
func Restrict(bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	resident, _, reason := machine.ReadResident()
	mapped := machine.ReadWritable()
	if reason != "" || mapped == 0 { // of a system that does not tell: the result is checked afterwards
		return nil
	}
	limit := uint64(min(max(bytes-resident, 0), math.MaxInt64/2) + mapped + spare)
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return fmt.Errorf("limit the memory of a trial: %w", err)
	}
	return nil
}
