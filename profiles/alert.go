package profiles

import "time"

// Severity is how much an alert matters.
type Severity uint8

// The severities.
const (
	Notice   Severity = iota // costs little
	Warning                  // costs time, memory or quality
	Critical                 // the run does not go on as it is
)

// String is the severity's name on screen.
func (s Severity) String() string { return [...]string{"notice", "warning", "critical"}[s] }

// Alert is something wrong with the run.
type Alert struct {
	ID        string // what kind, the same for every run: "stall"
	Severity  Severity
	Since     time.Duration // since the run began
	Iteration int64         // Index of the next iteration then
	What      string        // one sentence
	Try       Advice        // one sentence on what may help
}
