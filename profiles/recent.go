package profiles

// recentTimings is how many iterations a snapshot tells one by one.
const recentTimings = 512

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
