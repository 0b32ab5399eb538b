package profiles

import (
	"errors"
	"slices"
)

// The units of work that ended: the newest with their results, older ones counted.

// KeptResults is the number of results that are kept of a run at least: those of its newest units. What is older is
// counted.
const KeptResults = 1024

// Ended counts units of work that ended. As an event, it is of those whose results do not follow.
type Ended struct {
	Units      int     `json:"units"`
	Converged  int     `json:"converged"`
	Iterations int64   `json:"iterations"` // of these units
	Failed     []int32 `json:"failed"`     // the units that used up their iterations; see UnitResult.Failed
}

// Add counts a result.
func (e *Ended) Add(r *UnitResult) {
	e.Units, e.Iterations = e.Units+1, e.Iterations+int64(r.Iterations)
	if r.Converged {
		e.Converged++
	} else if r.Failed() {
		e.Failed = append(e.Failed, r.Unit)
	}
}

// Join counts others, too.
func (e *Ended) Join(o *Ended) {
	e.Units, e.Converged, e.Iterations = e.Units+o.Units, e.Converged+o.Converged, e.Iterations+o.Iterations
	e.Failed = append(e.Failed, o.Failed...)
}

// Check returns an error if the counts contradict each other.
func (e *Ended) Check() error {
	if e.Units < 0 || e.Converged < 0 || e.Iterations < 0 || e.Converged > e.Units-len(e.Failed) {
		return errors.New("the counts of the units that ended contradict each other")
	}
	return nil
}

// Clone returns a copy that shares no memory.
func (e *Ended) Clone() *Ended {
	c := *e
	c.Failed = slices.Clone(e.Failed)
	return &c
}

// Thin appends a result to those that are kept, and counts the oldest instead once there are twice KeptResults.
// Results that were published are not modified.
func (e *Ended) Thin(results []UnitResult, r *UnitResult) []UnitResult {
	if len(results) >= 2*KeptResults {
		old := results[:len(results)-KeptResults+1]
		for i := range old {
			e.Add(&old[i])
		}
		results = slices.Clone(results[len(old):])
	}
	return append(results, *r)
}

// Ended counts all units of the run that ended.
func (s *Snapshot) Ended() (all Ended) {
	all = s.Earlier
	all.Failed = slices.Clip(all.Failed)
	for i := range s.Results {
		all.Add(&s.Results[i])
	}
	return all
}

// UnitsEnded returns the number of units that ended.
func (s *Snapshot) UnitsEnded() int { return s.Earlier.Units + len(s.Results) }
