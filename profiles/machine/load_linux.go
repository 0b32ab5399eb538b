package machine

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

// ReadLoad reads the machine's and this program's processor time.
func ReadLoad() Load {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Load{Reason: err.Error()}
	}
	l, err := parseStat(string(text))
	if err != nil {
		return Load{Reason: err.Error()}
	}
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return Load{Reason: "getrusage: " + err.Error()}
	}
	for _, t := range []unix.Timeval{used.Utime, used.Stime} {
		l.Own += float64(t.Sec) + float64(t.Usec)/1e6
	}
	return l
}

// parseStat reads the first line of /proc/stat: user, nice, system, idle, iowait,
// irq, softirq and steal, in ticks.
func parseStat(text string) (Load, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return Load{}, fmt.Errorf("/proc/stat begins with %.40q, not with the times of all processors", line)
	}
	var l Load
	for i, f := range fields[1:9] {
		n, err := strconv.ParseUint(f, 10, 63)
		if err != nil {
			return Load{}, fmt.Errorf("/proc/stat: %w", err)
		}
		l.Passed += float64(n) * tick
		if i != 3 && i != 4 { // idle, iowait
			l.Busy += float64(n) * tick
		}
	}
	return l, nil
}
