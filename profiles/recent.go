package profiles

// recentTimings is how many iterations a snapshot tells one by one.
const recentTimings = 512

// Timing is where the time of one iteration went, in nanoseconds. What Total holds
// beyond the phases was spent between them.
type Timing struct {
	Index  int64
	Start  int64 // since the run began
	Total  int64
	Phases [MaxPhases]int64
	Flags  Flags
}

// Rest is the time that belongs to no phase.
func (t *Timing) Rest() int64 {
	rest := t.Total
	for _, ns := range t.Phases {
		rest -= ns
	}
	return max(rest, 0)
}

// timings keeps the newest iterations. What was published is never written again:
// the room behind it is filled, and a full array is left to its readers.
type timings []Timing

func (t *timings) add(it *Iteration) {
	if len(*t) == cap(*t) {
		more := make([]Timing, 0, 4*recentTimings)
		*t = append(more, t.newest()...)
	}
	*t = append(*t, Timing{it.Index, it.Start, it.Total, it.Phases, it.Flags})
}

// newest is the last recentTimings of them, oldest first.
func (t timings) newest() []Timing {
	n := len(t)
	return t[max(0, n-recentTimings):n:n]
}
