package machine

import "golang.org/x/sys/unix"

// ReadResident reads the peak of this process's resident memory, in bytes; reason
// says what is missing and why.
func ReadResident() (rss, peak int64, reason string) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, 0, "getrusage: " + err.Error()
	}
	return 0, usage.Maxrss, "macOS tells a process only its peak"
}

// ResetPeak is not supported on this system.
func ResetPeak() (reason string) { return "the peak of resident memory cannot be reset on this system" }
