//go:build unix

package recording

import (
	"os"
	"strconv"
	"time"

	"prismtop/profiles/machine"
)

// alive reports whether the process that writes a recording still runs. A process of another machine
// counts as running while it writes.
func alive(process, host string, silent time.Duration) bool {
	here, err := os.Hostname()
	pid, wrong := strconv.Atoi(process)
	if err != nil || wrong != nil || here != host {
		return silent < lag
	}
	return machine.Runs(pid)
}
