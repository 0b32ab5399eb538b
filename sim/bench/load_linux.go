package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tick is the kernel's unit of processor time in /proc/stat, which has been a
// hundredth of a second for programs on every architecture that Go knows.
const tick = 0.01

// readLoad reads the machine's and this program's processor time since each
// started.
func readLoad() (load, string) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return load{}, err.Error()
	}
	l, err := parseStat(string(text))
	if err != nil {
		return load{}, err.Error()
	}
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return load{}, "getrusage: " + err.Error()
	}
	for _, t := range []unix.Timeval{used.Utime, used.Stime} {
		l.own += float64(t.Sec) + float64(t.Usec)/1e6
	}
	return l, ""
}

// parseStat reads the first line of /proc/stat: user, nice, system, idle, iowait,
// irq, softirq and steal, in ticks.
func parseStat(text string) (load, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return load{}, fmt.Errorf("/proc/stat begins with %.40q, not with the times of all processors", line)
	}
	var l load
	for i, f := range fields[1:9] {
		n, err := strconv.ParseUint(f, 10, 63)
		if err != nil {
			return load{}, fmt.Errorf("/proc/stat: %w", err)
		}
		l.passed += float64(n) * tick
		if i != 3 && i != 4 { // idle, iowait
			l.busy += float64(n) * tick
		}
	}
	return l, nil
}

// peakResident is the largest resident memory of this process in bytes.
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
