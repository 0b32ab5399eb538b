package machine

import (
	"os"
	"strconv"
	"strings"
)

// The memory of a process from /proc.

// ReadResident reads this process's resident memory and its peak, in bytes; reason
// says what is missing and why.
func ReadResident() (rss, peak int64, reason string) { return readResident("/proc/self/status") }

// readResident is ReadResident of the process whose status is in a file.
func readResident(path string) (rss, peak int64, reason string) {
	status, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err.Error()
	}
	rss, peak = statusBytes(string(status), "VmRSS:"), statusBytes(string(status), "VmHWM:")
	if rss == 0 || peak == 0 {
		reason = path + " lacks " + missing(rss, peak)
	}
	return rss, peak, reason
}

// ResetPeak sets the peak of this process's resident memory to what it is now. It returns why it could not.
func ResetPeak() (reason string) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		return "the peak of resident memory cannot be reset: " + err.Error()
	}
	return ""
}

func missing(rss, peak int64) string {
	switch {
	case rss == 0 && peak == 0:
		return "VmRSS and VmHWM"
	case rss == 0:
		return "VmRSS"
	}
	return "VmHWM"
}

// statusBytes returns the value, in kB there, of a line of /proc/self/status; 0
// if there is none.
func statusBytes(status, name string) int64 {
	_, rest, ok := strings.Cut(status, "\n"+name)
	if !ok {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
