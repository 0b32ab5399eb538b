package machine

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// The count is that of the kernel, where it keeps one, and never shrinks.
func TestKillsForMemoryAreCounted(t *testing.T) {
	text, _ := os.ReadFile("/proc/vmstat") // empty where it cannot be read
	before, counted := int64(0), false
	for _, line := range strings.Split(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "oom_kill" {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			before, counted = n, err == nil
		}
	}
	if n, ok := OOMKills(); ok != counted || n < before {
		t.Errorf("%d, %v, want %d or more, %v", n, ok, before, counted)
	}
}
