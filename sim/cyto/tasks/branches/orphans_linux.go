package branches

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// endIn kills the processes that work in a folder: those that a killed program had started, and
// that would disturb measurements.
func endIn(folder string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		// The folder may be gone, which the link then says behind its name.
		at, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(at, folder+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
