package bench

import (
	"os"
	"strconv"
	"strings"
)

// peakResident returns the largest resident memory of this process in bytes.
func peakResident() (int64, string) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err.Error()
	}
	_, rest, _ := strings.Cut(string(text), "\nVmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 10, 64)
	if err != nil {
		return 0, "/proc/self/status lacks VmHWM"
	}
	return kib << 10, ""
}
