//go:build unix

package recording

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// alive reports whether the process that writes a recording still runs. A process of another machine
// counts as running while it writes.
func alive(process, host string, silent time.Duration) bool {
	here, err := os.Hostname()
	pid, wrong := strconv.Atoi(process)
	if err != nil || wrong != nil || here != host {
		return silent < lag
	}
	err = unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
