package machine

import (
	"os"
	"strconv"
	"strings"
)

// OOMKills returns how many processes the kernel has killed since it started because memory
// ended, of the whole machine or of a control group; ok is false if it does not say.
func OOMKills() (n int64, ok bool) {
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
