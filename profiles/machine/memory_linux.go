package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memInfo is the file with the machine's memory.
const memInfo = "/proc/meminfo"

// ReadMemory queries the operating system.
func ReadMemory() Memory { return readMemory("/") }

// readMemory reads the files of a system whose root directory is at a path.
func readMemory(root string) Memory {
	text, err := os.ReadFile(filepath.Join(root, memInfo))
	if err != nil {
		return Memory{Reason: err.Error()}
	}
	m := parseMemInfo(string(text))
	for _, g := range memoryGroups(root) {
		g.bound(&m)
	}
	return m
}

// parseMemInfo reads MemTotal and MemAvailable, which are in kB.
func parseMemInfo(text string) Memory {
	var m Memory
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		amount, found := strings.CutSuffix(strings.TrimSpace(value), " kB")
		n, err := strconv.ParseInt(amount, 10, 64)
		if !found || err != nil || n < 0 || n > 1<<50 {
			continue
		}
		switch key {
		case "MemTotal":
			m.Total = n << 10
		case "MemAvailable":
			m.Available = n << 10
		}
	}
	if m.Total == 0 || m.Available == 0 {
		m.Reason = fmt.Sprintf("%s does not tell MemTotal and MemAvailable", memInfo)
	}
	return m
}

// parseLimit reads a control group's limit. "max", or a number too large to limit
// this machine, means none.
func parseLimit(text string, total int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n <= 0 || total > 0 && n >= total {
		return 0
	}
	return n
}
