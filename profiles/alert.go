package profiles

import "time"

// Severity is how much an alert matters.
type Severity uint8

// The severities.
const (
	Notice   Severity = iota // costs little
	Warning                  // costs time, memory or quality
	Critical                 // the run cannot continue like this
)

// String returns the severity's name for display.
func (s Severity) String() string { return [...]string{"notice", "warning", "critical"}[s] }

// Alert is a problem of the run.
type Alert struct {
	ID        string // the kind, the same for every run, as StallAlert
	Severity  Severity
	Since     time.Duration // since the run began
	Iteration int64         // Index of the next iteration at that time
	What      string        // one sentence
	Try       Advice        // one sentence on what may help
}

// IDs of alerts: no iteration ends, and the process grows so that memory may run out.
const (
	StallAlert = "stall"
	LeakAlert  = "memory-slope"
)
